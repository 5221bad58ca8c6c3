import { LRUCache } from "lru-cache";
import type { StreamEvent } from "#events/streams/live-bus.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";

/** Kinds of events that are about runs and their tasks. */
const runKinds: ReadonlySet<string> = new Set(["workflow", "task"]);
const MAX_AGENTS = 1000;

export interface RunSight {
  /** Throws `membership_unavailable` where the event is of an agent that was not asked about before. */
  sees(event: Pick<StreamEvent, "kind" | "visibleTo">): Promise<boolean>;
  /** Reads anew what the caller may see. Throws `decision_unavailable`, `membership_unavailable`. */
  refresh(): Promise<void>;
}

/**
 * What somebody sees of the workflow stream: with `workflows/view_runs` all runs, else those of their own and of agents that they control,
 * and steps with tasks that are put to them or a group or role of theirs. Other messages (access requests, notices) go to whom they
 * name, and with `activity/view_all` to all. Cost of an event: none, but one question to the graph for each agent that is new since the
 * last `refresh`.
 */
export const openRunSight = async (
  { pdpClient, graph }: Pick<TaskContext, "pdpClient" | "graph">,
  { caller, correlationId }: Pick<TaskCaller, "caller" | "correlationId">,
): Promise<RunSight> => {
  const within = { tenant: caller.tenant, correlationId };
  const read = async (context: { readonly showing: true } | { readonly background: true }) => {
    const pairs = [
      ["workflows", "view_runs"],
      ["activity", "view_all"],
    ] as const;
    const asks = pairs.map(([type, action]) => ({ type, action, context }));
    const [decided, groups] = await Promise.all([pdpClient.decideMany(caller, asks, correlationId), graph.groupsOf(caller.sub, within)]);
    const [seesRuns, seesOthers] = decided.map((one) => pdpClient.refusal(caller, one) === undefined);
    return {
      seesRuns: seesRuns === true,
      seesOthers: seesOthers === true,
      names: new Set([caller.sub, ...(groups ?? [])]),
      agents: new LRUCache<string, Promise<boolean>>({ max: MAX_AGENTS }),
    };
  };
  let now = await read({ showing: true });

  const controls = (agent: string): Promise<boolean> => {
    const { agents } = now;
    const known = agents.get(agent);
    if (known !== undefined) return known;
    const asked = graph.linkOf(agent, caller.sub, within).then((link) => link === "control");
    agents.set(agent, asked);
    // Without an answer it is asked again.
    asked.catch(() => agents.delete(agent));
    return asked;
  };

  return {
    sees: async ({ kind = "", visibleTo }) => {
      const isOfRun = runKinds.has(kind);
      if (visibleTo === undefined || (isOfRun ? now.seesRuns : now.seesOthers)) return true;
      if (visibleTo.some((name) => now.names.has(name))) return true;
      if (!isOfRun) return false;
      for (const name of visibleTo) if (name.startsWith("agent:") && (await controls(name))) return true;
      return false;
    },
    refresh: async () => void (now = await read({ background: true })),
  };
};
