import { agentsAmong, isAgent } from "#authn/model/actor-kind.ts";
import type { ProblemCode } from "#contract/problem.ts";
import type { TaskCaller, TaskContext } from "./task-context.ts";
import type { TaskState } from "./task-rows.ts";

/** Who somebody is to tasks. */
export interface Standing {
  readonly person: string;
  /** The person with all its groups and roles. */
  readonly identities: ReadonlySet<string>;
  /** Agents that act for the person. */
  readonly agents: readonly string[];
  readonly isAgent: boolean;
}

/** Reads the caller's groups from the graph. Throws `membership_unavailable`. */
export const readStanding = async ({ graph }: Pick<TaskContext, "graph">, { caller, correlationId }: TaskCaller): Promise<Standing> => {
  const { sub, tenant, agent, actors = [] } = caller;
  const groups = await graph.groupsOf(sub, { tenant, correlationId });
  const agents = new Set([...agentsAmong(actors), ...(agent === undefined ? [] : [agent])]);
  return { person: sub, identities: new Set([sub, ...(groups ?? [])]), agents: [...agents], isAgent: isAgent(caller) };
};

export const isExcluded = ({ approvers }: TaskState, { person }: Pick<Standing, "person">): boolean =>
  approvers.some(({ identity, source }) => identity === person && source === "excluded");

/** Whether the task was put to the person, itself or by a group, and the person did not pass it on. */
export const isAsked = (state: TaskState, standing: Standing): boolean =>
  !isExcluded(state, standing) &&
  state.approvers.some(({ identity, source }) => source !== "excluded" && standing.identities.has(identity));

/** What the separation of duties says, as far as the rows know: who stands in `barred` decides neither in person nor by an agent. */
export const isBarred = ({ barred }: TaskState, { person, agents }: Pick<Standing, "person" | "agents">): boolean =>
  [person, ...agents].some((id) => barred.has(id));

/**
 * Whether the separation of duties bars the caller: also an agent that a barred person controls or delegates to. Asks the graph only about
 * agents. Throws `membership_unavailable`.
 */
export const isSeparated = async (
  { graph }: Pick<TaskContext, "graph">,
  state: TaskState,
  { standing, by }: { readonly standing: Standing; readonly by: TaskCaller },
): Promise<boolean> => {
  if (isBarred(state, standing)) return true;
  const acting = standing.isAgent ? [...new Set([...standing.agents, ...(standing.agents.length === 0 ? [standing.person] : [])])] : [];
  const within = { tenant: by.caller.tenant, correlationId: by.correlationId };
  for (const agent of acting)
    for (const person of state.barred) if (person !== agent && (await graph.linkOf(agent, person, within)) !== undefined) return true;
  return false;
};

/** Persons alone are on the list, and too few of them may decide. What stands in a group is not counted. */
export const hasTooFew = ({ task, approvers, barred }: TaskState): boolean => {
  const asked = approvers.filter(({ source }) => source !== "excluded").map(({ identity }) => identity);
  if (asked.some((identity) => /^(?:group|role):/.test(identity))) return false;
  return asked.filter((identity) => !barred.has(identity)).length < task.required;
};

/** Why a caller cannot decide a task; null: the decision point has the last word. */
export type WhyNot =
  | Extract<ProblemCode, "already_decided" | "separation_of_duties" | "person_required" | "access_denied">
  | "too_few_approvers";

export const whyNot = (state: TaskState, standing: Standing, mayComplete: boolean): WhyNot | null => {
  const { task, decisions } = state;
  if (task.status !== "PENDING" || decisions.some(({ person }) => person === standing.person)) return "already_decided";
  if (isBarred(state, standing)) return "separation_of_duties";
  if (standing.isAgent && task.kind !== "form") return "person_required";
  if (mayComplete && !isExcluded(state, standing)) return null;
  return hasTooFew(state) ? "too_few_approvers" : "access_denied";
};
