import { Button, Radio } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { searchNodes, type IdentityNode } from "#contract/membership.ts";
import { useClient } from "../../api/client-context.ts";
import { controllersQuery } from "../../api/nodes.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useCan, type Can } from "../../decisions/use-can.ts";
import { useCans } from "../../decisions/use-cans.ts";
import { AskSomebody } from "../../shell/ask-somebody.tsx";
import { words } from "../../strings/en.ts";
import { grantWords } from "../../strings/grant.ts";
import { visibleText } from "../../strings/format.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { choiceOf, agentStateOf } from "./agent-choice.ts";
import type { StepProps } from "./step-props.ts";
import { StepForm } from "../../ui/step-form.tsx";

const nameOf = (agent: IdentityNode): string => visibleText(agent.display_name ?? agent.name);

/** Who controls an agent that is not this person's: they can delegate to it, or say who may. */
const Controllers = ({ agentId }: { readonly agentId: string }): ReactElement | null => {
  const names = useQuery(controllersQuery(useClient(), agentId)).data ?? [];
  return names.length === 0 ? null : <>{visibleText(grantWords.controlledBy(names.join(", ")))}</>;
};

const About = ({ agent, can }: { readonly agent: IdentityNode; readonly can: Can }): ReactElement => {
  const state = agentStateOf(agent, can);
  return (
    <>
      <Foreign text={agent.id} isCode />
      {state === "open" ? null : (
        <>
          {" "}
          {words.common.aside(grantWords.agentStates[state])} {state === "foreign" ? <Controllers agentId={agent.id} /> : null}
        </>
      )}
    </>
  );
};

const Option = ({ agent, can }: { readonly agent: IdentityNode; readonly can: Can }): ReactElement => {
  const isOpen = agentStateOf(agent, can) === "open";
  return (
    <div className="sp-option" data-disabled={isOpen ? undefined : ""}>
      <Radio
        id={`agent-${agent.id}`}
        value={agent.id}
        disabled={!isOpen}
        label={nameOf(agent)}
        description={<About agent={agent} can={can} />}
      />
    </div>
  );
};

/** There is nothing to choose: why, what the person can do about it, and no way on that leads nowhere. */
const NoChoice = ({ agents, cans }: { readonly agents: readonly IdentityNode[]; readonly cans: readonly Can[] }): ReactElement => {
  const [first] = agents;
  const mayControl = useCan({ type: "agents", action: "control", ...(first === undefined ? {} : { id: first.id }) });
  return (
    <div className="sp-stack">
      <strong>{agents.length === 0 ? grantWords.agentsEmpty : grantWords.noneYours}</strong>
      <p>{agents.length === 0 ? grantWords.agentsEmptyHint : grantWords.noneYoursHint}</p>
      {agents.length === 0 ? null : (
        <ul className="sp-list">
          {agents.map((agent, index) => (
            <li key={agent.id} className="sp-option">
              <span>
                {nameOf(agent)}
                <span className="sp-small sp-dim">
                  {" "}
                  <About agent={agent} can={cans[index] ?? "unknown"} />
                </span>
              </span>
            </li>
          ))}
        </ul>
      )}
      {mayControl === "allowed" && agents.length > 0 ? <p>{grantWords.controlYourself}</p> : <AskSomebody what={grantWords.askForAgent} />}
      <Link className="sp-link" to="/delegations">
        {grantWords.toDelegations}
      </Link>
    </div>
  );
};

const Choice = ({ agents, form, onChange, onNext }: StepProps & { readonly agents: readonly IdentityNode[] }): ReactElement => {
  const cans = useCans(agents.map(({ id }) => ({ type: "delegations", id, action: "create" })));
  const [hasTried, setTried] = useState(false);
  const choice = choiceOf(agents, cans, form.agentId);
  const choose = (agentId: string): void => onChange({ ...form, agentId, tools: agentId === form.agentId ? form.tools : [] });
  if (choice === "none") return <NoChoice agents={agents} cans={cans} />;
  const issue = choice === "foreign" ? grantWords.agentForeignIssue : grantWords.agentIssue;
  return (
    <StepForm
      issues={choice === "chosen" ? [] : [{ field: "agent-choice", text: issue }]}
      hasTried={hasTried}
      onTried={setTried}
      onNext={onNext}
      submit={
        <Button type="submit" disabled={choice === "waiting"}>
          {words.common.next}
        </Button>
      }
    >
      <Radio.Group
        id="agent-choice"
        tabIndex={-1}
        label={grantWords.agentLegend}
        value={form.agentId}
        onChange={choose}
        error={choice === "foreign" || (hasTried && choice === "open") ? issue : undefined}
      >
        <div className="sp-stack">
          {agents.map((agent, index) => (
            <Option key={agent.id} agent={agent} can={cans[index] ?? "unknown"} />
          ))}
        </div>
      </Radio.Group>
    </StepForm>
  );
};

/** Which agent: those that the person controls can be chosen, the others say why not. */
export const AgentStep = (props: StepProps): ReactElement => (
  <QueryView
    query={useQuery({ ...useEndpoint(searchNodes).query({ query: { node_type: "AIAgent", limit: 500 } }), staleTime: 30_000 })}
    service="membership"
  >
    {(agents) => <Choice {...props} agents={agents} />}
  </QueryView>
);
