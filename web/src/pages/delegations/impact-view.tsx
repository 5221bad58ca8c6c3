import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { impactQuery } from "../../api/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatRelative } from "../../strings/format.ts";
import { Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { QueryView } from "../../ui/query-view.tsx";

const Ids = ({ ids, none }: { readonly ids: readonly string[]; readonly none: string }): ReactElement =>
  ids.length === 0 ? (
    <span className="sp-dim">{none}</span>
  ) : (
    <ul className="sp-list">
      {ids.map((id) => (
        <li key={id}>
          <Foreign text={id} isCode />
        </li>
      ))}
    </ul>
  );

export interface ImpactViewProps {
  readonly id: string;
  /** Shown in place of what this delegation alone takes away, where others end with it. */
  readonly covers?: { readonly tools: readonly string[] | null };
}

/** What ending a delegation takes away, as the server computes it now. */
export const ImpactView = ({ id, covers }: ImpactViewProps): ReactElement => {
  const query = useQuery(impactQuery(useClient(), id));
  return (
    <QueryView query={query} service="membership">
      {(impact) => (
        <FactList>
          <Fact name={covers === undefined ? words.delegations.impactTools : words.delegations.capabilities}>
            {covers === undefined ? (
              <Ids ids={[...new Set(impact.tools_lost.map((lost) => lost.tool_id))]} none={words.delegations.impactToolsNone} />
            ) : covers.tools === null ? (
              words.delegations.allTools
            ) : (
              <Ids ids={covers.tools} none={words.common.none} />
            )}
          </Fact>
          <Fact name={words.delegations.impactRunning}>
            <Ids
              ids={impact.running_calls.map((call) => `${call.tool_id} (${formatRelative(call.since, new Date())})`)}
              none={words.delegations.impactNone}
            />
          </Fact>
          <Fact name={words.delegations.impactChildren}>
            <Ids ids={impact.children} none={words.delegations.impactNone} />
          </Fact>
        </FactList>
      )}
    </QueryView>
  );
};

/** True once the impact has been read: before that the button that ends it stays off. */
export const useIsImpactRead = (id: string): boolean => useQuery(impactQuery(useClient(), id)).isSuccess;
