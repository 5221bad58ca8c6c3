import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { delegationImpact } from "#contract/delegations.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { formatRelative } from "../../strings/format.ts";
import { CodesFact, Fact, FactList } from "../../ui/fact-list.tsx";
import { QueryView } from "../../ui/query-view.tsx";

export interface ImpactViewProps {
  readonly id: string;
  /** Shown in place of what this delegation alone takes away, where others end with it. */
  readonly covers?: { readonly tools: readonly string[] | null };
}

/** Read anew each time a dialog opens. */
const useImpact = (id: string) => useQuery({ ...useEndpoint(delegationImpact).query({ params: { id } }), staleTime: 0, gcTime: 0 });

/** What ending a delegation takes away, as the server computes it now. */
export const ImpactView = ({ id, covers }: ImpactViewProps): ReactElement => {
  const query = useImpact(id);
  return (
    <QueryView query={query} service="membership">
      {(impact) => (
        <FactList>
          {covers === undefined ? (
            <CodesFact
              name={words.delegations.impactTools}
              texts={[...new Set(impact.tools_lost.map((lost) => lost.tool_id))]}
              none={words.delegations.impactToolsNone}
            />
          ) : covers.tools === null ? (
            <Fact name={words.delegations.capabilities}>{words.delegations.allTools}</Fact>
          ) : (
            <CodesFact name={words.delegations.capabilities} texts={covers.tools} none={words.common.none} />
          )}
          <CodesFact
            name={words.delegations.impactRunning}
            texts={impact.running_calls.map((call) => `${call.tool_id} (${formatRelative(call.since, new Date())})`)}
            none={words.delegations.impactNone}
          />
          <CodesFact name={words.delegations.impactChildren} texts={impact.children} none={words.delegations.impactNone} />
        </FactList>
      )}
    </QueryView>
  );
};

/** True once the impact has been read: before that the button that ends it stays off. */
export const useIsImpactRead = (id: string): boolean => useImpact(id).isSuccess;
