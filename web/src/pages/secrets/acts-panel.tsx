import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { secretOperationLabels } from "#contract/secret-operations.ts";
import { listSecretUses } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { actsQuery, type SecretAct, type SecretStory } from "../../api/secrets.ts";
import { hasCode } from "../../model/gateway-error.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { secretWords } from "../../strings/secrets.ts";
import { formatMoment, formatRelative, visibleText } from "../../strings/format.ts";
import { Chip, type Tone } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { DelegationLink, ToolLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { useClock } from "../../ui/timers.ts";
import { Who } from "../../ui/who.tsx";
import { splitKey } from "./secret-place.ts";

const text = secretWords.changes;
type Act = SecretAct & { readonly uri: string };

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const actorOf = ({ data }: Act): Readonly<Record<string, unknown>> => (data["actor"] ?? {}) as Readonly<Record<string, unknown>>;
const looking: ReadonlySet<string> = new Set(["keys", "detail", "versions", "metadata", "search"]);

/** Of a tool call its own service asks: for which tool, agent and delegation stands in the entry, for whom with its decision. */
const Actor = ({ act }: { readonly act: Act }): ReactElement => {
  const actor = actorOf(act);
  const [tool, agent, delegation] = [act.data["tool_id"], actor["agent_id"], actor["delegation_id"]].map(textOf);
  return (
    <>
      <Who id={textOf(actor["subject_id"]) ?? textOf(actor["subject_ref"]) ?? words.common.unknown} />
      {tool === undefined ? null : (
        <div className="sp-small">
          {text.forTool} <ToolLink name={tool} />
        </div>
      )}
      {agent === undefined ? null : (
        <div className="sp-small">
          {text.byAgent} <Foreign text={agent} isCode />
        </div>
      )}
      {delegation === undefined ? null : (
        <div className="sp-small">
          {text.underDelegation} <DelegationLink id={delegation} />
        </div>
      )}
    </>
  );
};

const tones: Readonly<Record<string, { readonly tone: Tone; readonly icon: "check" | "cross" | "question" | "warning" }>> = {
  ok: { tone: "allow", icon: "check" },
  denied: { tone: "deny", icon: "cross" },
  refused: { tone: "quiet", icon: "warning" },
  error: { tone: "deny", icon: "warning" },
};

const columns: readonly Column<Act>[] = [
  { key: "when", title: text.when, cell: ({ at }) => <span className="sp-nowrap">{formatMoment(at)}</span> },
  {
    key: "what",
    title: text.what,
    cell: ({ data, uri }) => {
      const op = textOf(data["op"]) ?? "";
      const { key } = splitKey(uri);
      const purpose = textOf(data["stated_purpose"]);
      return (
        <span>
          {secretOperationLabels[op] ?? visibleText(op)}
          {key === undefined ? null : <span className="sp-small sp-dim"> {text.of(visibleText(key))}</span>}
          {textOf(data["tool_id"]) === undefined ? null : <span className="sp-small sp-dim"> {text.reading}</span>}
          {purpose === undefined ? null : (
            <div className="sp-small sp-dim">
              {text.stated} <Foreign text={purpose} />
            </div>
          )}
        </span>
      );
    },
  },
  { key: "who", title: text.who, cell: (act) => <Actor act={act} /> },
  {
    key: "outcome",
    title: text.outcome,
    cell: ({ data }) => {
      const outcome = textOf(data["outcome"]) ?? "unknown";
      const decisionId = textOf(data["decision_id"]);
      const chip = (
        <Chip {...(tones[outcome] ?? { tone: "quiet", icon: "question" })} text={text.outcomes[outcome] ?? visibleText(outcome)} />
      );
      return decisionId === undefined ? (
        chip
      ) : (
        <Link className="sp-chip-link" to="/why/$decisionId" params={{ decisionId }}>
          {chip}
        </Link>
      );
    },
  },
];

/** The page's clock stands still for some seconds: what has just been done is not ahead of it. */
const notBefore = (at: string, now: Date): Date => new Date(Math.max(Date.parse(at), now.getTime()));

const SHOWN = 12;

/** Who last changed it, and the last acts on it. */
export const ActsPanel = ({ uris, story }: { readonly uris: readonly string[]; readonly story: SecretStory | undefined }): ReactElement => {
  const query = useQuery(actsQuery(useClient(), uris));
  const now = useClock(10_000);
  const isUnnamed = hasCode(query.error, "unprocessable");
  return (
    <Panel
      title={text.title}
      aside={
        <Button variant="subtle" size="compact-xs" loading={query.isFetching} onClick={() => void query.refetch()}>
          {words.common.refresh}
        </Button>
      }
    >
      <div className="sp-stack">
        <p>
          {story?.updated_by === undefined || story.updated_at === undefined ? (
            <span className="sp-dim">{text.noChange}</span>
          ) : (
            <>
              {text.lastChange} <strong>{formatRelative(story.updated_at, notBefore(story.updated_at, now))}</strong> {text.by}{" "}
              <Who id={story.updated_by} />
            </>
          )}
        </p>
        {isUnnamed ? (
          <p className="sp-dim">{text.unnamed}</p>
        ) : (
          <QueryView query={query} service="secrets" rows={3}>
            {(all) => {
              // Looking at this very page is on record too; it would hide what counts.
              const acts = all.filter(({ data }) => !looking.has(String(data["op"])));
              return acts.length === 0 ? (
                <p className="sp-dim">{text.empty}</p>
              ) : (
                <Rows caption={text.title} columns={columns} rows={acts.slice(0, SHOWN)} keyOf={({ audit_id: id, at }) => `${id} ${at}`} />
              );
            }}
          </QueryView>
        )}
      </div>
    </Panel>
  );
};

/** Whose tools would be without their credential. */
export const UsesPanel = ({ uri }: { readonly uri: string }): ReactElement => {
  const query = useQuery(useEndpoint(listSecretUses).query({ query: { uri } }));
  return (
    <Panel title={secretWords.uses.title}>
      <QueryView query={query} service="crud" rows={1}>
        {({ systems }) =>
          systems.length === 0 ? (
            <p className="sp-dim">{secretWords.uses.empty}</p>
          ) : (
            <div className="sp-stack sp-tight">
              <ul className="sp-list">
                {systems.map(({ name, title, uris }) => (
                  <li key={name}>
                    <Link className="sp-link" to="/tools" search={{ provider: name }}>
                      {visibleText(title)}
                    </Link>{" "}
                    <Foreign text={name} isCode />
                    {uris.map((uri) => (
                      <div key={uri} className="sp-small sp-dim">
                        <Foreign text={uri} isCode />
                      </div>
                    ))}
                  </li>
                ))}
              </ul>
              <p className="sp-small sp-dim">{secretWords.uses.without}</p>
            </div>
          )
        }
      </QueryView>
    </Panel>
  );
};
