import { Button, Radio } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import type { IdentityNode } from "#contract/membership.ts";
import { useClient } from "../../api/client-context.ts";
import { agentsQuery } from "../../api/nodes.ts";
import { useCan } from "../../decisions/use-can.ts";
import { words } from "../../strings/en.ts";
import { grantWords } from "../../strings/grant.ts";
import { visibleText } from "../../strings/format.ts";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { faultsOf } from "./grant-draft.ts";
import type { StepProps } from "./grant-page.tsx";
import { StepForm } from "./step-form.tsx";

const AgentOption = ({ agent }: { readonly agent: IdentityNode }): ReactElement => {
  const can = useCan({ type: "delegations", id: agent.id, action: "create" });
  const isOpen = can === "allowed" && agent.state === "active";
  const note = can === "pending" ? grantWords.agentChecking : isOpen ? undefined : grantWords.agentNotYours;
  return (
    <div className="sp-option" data-disabled={isOpen ? undefined : ""}>
      <Radio
        id={`agent-${agent.id}`}
        value={agent.id}
        disabled={!isOpen}
        label={visibleText(agent.display_name ?? agent.name)}
        description={
          <>
            <Foreign text={agent.id} isCode /> {note === undefined ? null : words.common.aside(note)}
          </>
        }
      />
    </div>
  );
};

/** Which agent: those that the person controls can be chosen, the others say why not. */
export const AgentStep = ({ form, onChange, onNext }: StepProps): ReactElement => {
  const query = useQuery(agentsQuery(useClient()));
  const [hasTried, setTried] = useState(false);
  const isWrong = faultsOf("agent", form, new Date()).length > 0;
  const choose = (agentId: string): void => onChange({ ...form, agentId, tools: agentId === form.agentId ? form.tools : [] });
  return (
    <StepForm
      faults={isWrong ? [{ field: "agent-choice", text: grantWords.agentFault }] : []}
      hasTried={hasTried}
      onSubmit={() => {
        setTried(true);
        if (!isWrong) onNext();
      }}
      submit={<Button type="submit">{words.common.next}</Button>}
    >
      <QueryView query={query} service="membership">
        {(agents) =>
          agents.length === 0 ? (
            <Empty text={grantWords.agentsEmpty} />
          ) : (
            <Radio.Group
              id="agent-choice"
              tabIndex={-1}
              label={grantWords.agentLegend}
              value={form.agentId}
              onChange={choose}
              error={hasTried && isWrong ? grantWords.agentFault : undefined}
            >
              <div className="sp-stack">
                {agents.map((agent) => (
                  <AgentOption key={agent.id} agent={agent} />
                ))}
              </div>
            </Radio.Group>
          )
        }
      </QueryView>
    </StepForm>
  );
};
