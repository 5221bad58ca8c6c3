import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { delegationImpact } from "#contract/delegations.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatRelative } from "../../strings/format.ts";
import { Status } from "../../ui/chip.tsx";
import { Consequences, type Change } from "../../ui/consequences.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { QueryView } from "../../ui/query-view.tsx";

export interface ImpactViewProps {
  readonly id: string;
  /** Shown in place of what this delegation alone takes away, where others end with it. */
  readonly covers?: { readonly tools: readonly string[] | null };
}

/** Read anew each time a dialog opens. */
const useImpact = (id: string) => useQuery({ ...useEndpoint(delegationImpact).query({ params: { id } }), staleTime: 0, gcTime: 0 });

const text = delegationWords;
type Impact = ReplyOf<typeof delegationImpact>;

const code = (id: string): ReactElement => <Foreign text={id} isCode />;
const active = <Status tone="allow" icon="check" text={words.verdict.active} />;
const denied = <Status tone="deny" icon="cross" text={words.verdict.deny} />;

const changesOf = (impact: Impact, tools: readonly string[]): readonly Change[] => [
  ...tools.map((tool) => ({
    key: `tool ${tool}`,
    what: code(tool),
    now: <Status tone="allow" icon="check" text={text.delegated} />,
    after: denied,
  })),
  ...impact.running_calls.map(({ call_id, tool_id, since }) => ({
    key: `call ${call_id}`,
    what: code(tool_id),
    now: <Status tone="run" icon="running" text={text.runningSince(formatRelative(since, new Date()))} />,
    after: text.runsToEnd,
  })),
  ...impact.children.map((id) => ({ key: `child ${id}`, what: code(id), now: active, after: words.verdict.revoked })),
];

/** What ending a delegation takes away, as the server computes it now. */
export const ImpactView = ({ id, covers }: ImpactViewProps): ReactElement => {
  const query = useImpact(id);
  return (
    <QueryView query={query} service="membership">
      {(impact) => {
        const lost = covers === undefined ? [...new Set(impact.tools_lost.map(({ tool_id }) => tool_id))] : (covers.tools ?? []);
        const all = covers?.tools === null;
        const { length: running } = impact.running_calls;
        const { length: children } = impact.children;
        return (
          <Consequences
            readAt={new Date(query.dataUpdatedAt)}
            summary={[
              lost.length === 0 && !all
                ? { tone: "quiet", icon: "check", text: text.impactToolsNone }
                : { tone: "deny", icon: "cross", text: all ? text.allTools : text.impactTools(lost.length) },
              ...(running === 0 ? [] : [{ tone: "run", icon: "running", text: text.impactRunning(running) } as const]),
              ...(children === 0 ? [] : [{ tone: "stepup", icon: "delegation", text: text.impactChildren(children) } as const]),
            ]}
            changes={changesOf(impact, lost)}
          />
        );
      }}
    </QueryView>
  );
};

/** True once the impact has been read: before that the button that ends it stays off. */
export const useIsImpactRead = (id: string): boolean => useImpact(id).isSuccess;
