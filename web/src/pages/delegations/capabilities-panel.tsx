import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { useClient } from "../../api/client-context.ts";
import { agentToolsQuery } from "../../api/nodes.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { ToolLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";

const ToolLinks = ({ names }: { readonly names: readonly string[] }): ReactElement =>
  names.length === 0 ? (
    <p className="sp-dim">{words.common.none}</p>
  ) : (
    <ul className="sp-list">
      {names.map((name) => (
        <li key={name}>
          <ToolLink name={name} />
        </li>
      ))}
    </ul>
  );

const AllOfAgent = ({ agentId }: { readonly agentId: string }): ReactElement => {
  const query = useQuery(agentToolsQuery(useClient(), agentId));
  return (
    <>
      <p className="sp-dim">{delegationWords.allTools}</p>
      <QueryView query={query} service="membership">
        {(nodes) => <ToolLinks names={nodes.map((node) => node.id)} />}
      </QueryView>
    </>
  );
};

/** The tools that the agent may use under it. */
export const CapabilitiesPanel = ({ delegation }: { readonly delegation: Delegation }): ReactElement => (
  <Panel title={delegationWords.capabilities}>
    {delegation.capabilities === null ? <AllOfAgent agentId={delegation.agent_id} /> : <ToolLinks names={delegation.capabilities} />}
  </Panel>
);
