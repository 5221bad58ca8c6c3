import type { IdentityNode } from "#contract/membership.ts";
import type { Can } from "../../decisions/use-can.ts";

/** How an agent stands to the person who would delegate to it. */
export type AgentState = "open" | "waiting" | "inactive" | "unknown" | "foreign";

export const agentStateOf = (agent: Pick<IdentityNode, "state">, can: Can): AgentState => {
  if (can === "pending") return "waiting";
  if (can === "unknown") return "unknown";
  if (can === "denied") return "foreign";
  return agent.state === "active" ? "open" : "inactive";
};

/**
 * What can be done with the list of agents: `none` nothing, for no agent can be chosen; `waiting` nothing yet; `open` choose one;
 * `foreign` choose another, for what was chosen (perhaps by the address) is not this person's; `chosen` go on.
 */
export const choiceOf = (
  agents: readonly Pick<IdentityNode, "id" | "state">[],
  cans: readonly Can[],
  chosen: string,
): "none" | "waiting" | "open" | "foreign" | "chosen" => {
  const states = agents.map((agent, index) => agentStateOf(agent, cans[index] ?? "unknown"));
  const state = states[agents.findIndex(({ id }) => id === chosen)];
  if (state === "open") return "chosen";
  if (states.some((one) => one === "waiting")) return "waiting";
  if (states.every((one) => one === "foreign" || one === "inactive")) return "none";
  return chosen === "" ? "open" : "foreign";
};
