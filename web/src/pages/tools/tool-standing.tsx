import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, lazyRouteComponent } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { ToolExplanation } from "#contract/tools.ts";
import { listDecisions } from "#contract/decisions.ts";
import { useClient } from "../../api/client-context.ts";
import { toolCallersQuery, toolHoldersQuery } from "../../api/tool-standing.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { formatMoment, formatMoney, formatRelative, visibleText } from "../../strings/format.ts";
import { switchWords } from "../../strings/switches.ts";
import { standingWords } from "../../strings/tool-standing.ts";
import { Chip, Status } from "../../ui/chip.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Late } from "../../ui/late.tsx";
import { DecisionLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { useClock } from "../../ui/timers.ts";
import { OffBy } from "../../ui/switched-off.tsx";
import { SwitchActs } from "./switch-acts.tsx";

const GrantDialog = lazyRouteComponent(async () => await import("./grant-dialog.tsx"), "GrantDialog");

const text = standingWords;
const looks = {
  serving: { tone: "allow", icon: "check" },
  disabled: { tone: "quiet", icon: "cross" },
  quarantined: { tone: "stepup", icon: "warning" },
} as const;

type About = ToolExplanation["about"];

interface OfTool {
  readonly tool: string;
  readonly about: About;
}

/** Its state, where that is not the usual one, and its effect. */
export const ToolChips = ({ about }: Pick<OfTool, "about">): ReactElement => (
  <>
    {about.switched_off === undefined ? (
      about.state === "serving" ? null : (
        <Chip {...looks[about.state]} text={text.states[about.state]} />
      )
    ) : (
      <Chip tone="quiet" icon="cross" text={switchWords.off} />
    )}
    {about.read_only ? <Chip tone="quiet" icon="read" text={text.readOnly} /> : <Chip tone="run" icon="write" text={text.writes} />}
  </>
);

const Facts = ({ tool, about }: OfTool): ReactElement => {
  const { switched_off: off, step_up: stepUp, system, owner } = about;
  return (
    <FactList>
      <Fact name={text.state}>
        {off === undefined ? <Status {...looks[about.state]} text={text.states[about.state]} /> : <OffBy off={off} />}
      </Fact>
      <Fact name={text.price}>{about.price_usd === 0 ? text.free : formatMoney(about.price_usd)}</Fact>
      <Fact name={text.effect}>{about.read_only ? text.readOnly : text.writes}</Fact>
      <Fact name={text.stepUp}>{stepUp === undefined ? text.stepUpNone : text.stepUpAs(stepUp.acr_value, stepUp.max_age_seconds)}</Fact>
      <Fact name={text.system}>
        {system === undefined ? undefined : (
          <Link className="sp-link sp-mono" to="/systems/$name" params={{ name: system }}>
            {visibleText(system)}
          </Link>
        )}
      </Fact>
      <TextFact name={text.owner} text={owner} isCode />
      <Fact name={text.digest}>
        <Foreign text={about.digest} isCode />{" "}
        {about.state === "quarantined" ? (
          <Link className="sp-link" to="/definitions" search={{ tool }}>
            {text.definition}
          </Link>
        ) : null}
      </Fact>
    </FactList>
  );
};

/** What an administrator does with it: off and on, and who else is to have it. */
export const ToolActs = ({ tool, about, onDone }: OfTool & { readonly onDone: (done: string) => void }): ReactElement => {
  const queries = useQueryClient();
  const [isGranting, setGranting] = useState(false);
  return (
    <>
      <SwitchActs kind="tool" name={tool} off={about.switched_off} onDone={onDone} />
      <Gate ask={{ type: "graph", action: "edit" }}>
        <Button variant="default" onClick={() => setGranting(true)}>
          {text.grant}
        </Button>
      </Gate>
      <Link className="sp-link" to="/delegations/new" search={{ tool }}>
        {text.delegate}
      </Link>
      {isGranting ? (
        <Late>
          <GrantDialog
            tool={tool}
            digest={about.digest}
            onDone={(to) => {
              setGranting(false);
              onDone(text.granted(to));
              void queries.invalidateQueries({ queryKey: ["tools"] });
            }}
            onClose={() => setGranting(false)}
          />
        </Late>
      ) : null}
    </>
  );
};

/** What was decided: how the calls ended stands in the audit log alone. */
const LastDecisions = ({ tool }: { readonly tool: string }): ReactElement => {
  const now = useClock(30_000);
  const query = useQuery(
    useEndpoint(listDecisions).query({ query: { resource_type: "tool", resource: tool, action: "tools/call", limit: 5 } }),
  );
  return (
    <Panel title={text.last}>
      <QueryView query={query} service="pdp">
        {({ decisions }) =>
          decisions.length === 0 ? (
            <p className="sp-dim">{text.lastNone}</p>
          ) : (
            <ul className="sp-list">
              {decisions.map((decision) => (
                <li key={decision.decision_id}>
                  <DecisionLink id={decision.decision_id}>{visibleText(decision.sentence)}</DecisionLink>{" "}
                  <time className="sp-small sp-dim" dateTime={decision.decided_at} title={formatMoment(decision.decided_at)}>
                    {formatRelative(decision.decided_at, now)}
                  </time>
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </Panel>
  );
};

const Ids = ({ ids, more = false }: { readonly ids: readonly string[]; readonly more?: boolean }): ReactElement =>
  ids.length === 0 ? (
    <span className="sp-dim">{text.whoNobody}</span>
  ) : (
    <>
      {ids.map((id, index) => (
        <span key={id}>
          {index === 0 ? null : ", "}
          <Foreign text={id} isCode />
        </span>
      ))}
      {more ? ` ${text.whoMore}` : null}
    </>
  );

const Callers = ({ tool }: { readonly tool: string }): ReactElement => (
  <QueryView query={useQuery(toolCallersQuery(useClient(), tool))} service="pdp">
    {({ persons, hasMore }) => (
      <FactList>
        <Fact name={text.whoNow}>
          <Ids ids={persons} more={hasMore} />
        </Fact>
      </FactList>
    )}
  </QueryView>
);

const Holders = ({ tool, about }: OfTool): ReactElement => (
  <Panel title={text.whoTitle}>
    <QueryView query={useQuery(toolHoldersQuery(useClient(), tool))} service="membership">
      {({ granted, capable }) => (
        <FactList>
          <Fact name={text.whoGranted}>
            <Ids ids={granted} />
          </Fact>
          <Fact name={text.whoCapable}>
            <Ids ids={capable} />
          </Fact>
        </FactList>
      )}
    </QueryView>
    {about.switched_off === undefined && about.state === "serving" ? (
      <Gate ask={{ type: "decisions", action: "view_all" }}>
        <Callers tool={tool} />
      </Gate>
    ) : (
      <FactList>
        <Fact name={text.whoNow}>{text.whoOff}</Fact>
      </FactList>
    )}
  </Panel>
);

/** State, effect, price and sign-in. */
export const ToolStanding = (props: OfTool): ReactElement => (
  <Panel title={text.title}>
    <Facts {...props} />
  </Panel>
);

/** Who can call it, and what was decided lately; nothing of a tool without a system. */
export const ToolAccess = (props: OfTool): ReactElement | null =>
  props.about.system === undefined ? null : (
    <>
      <Gate ask={{ type: "graph", action: "diagnose" }}>
        <Holders {...props} />
      </Gate>
      <LastDecisions tool={props.tool} />
    </>
  );
