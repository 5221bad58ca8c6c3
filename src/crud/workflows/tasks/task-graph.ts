import { ask } from "#contract/ask.ts";
import { askFacts, type FactAsk } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";
import type { GraphReader, TaskGraph } from "./task-context.ts";

const TASKS = { action: "complete", resource: { type: "tasks", external_id: "*" } };

/** Groups and agents of persons, as membership knows them now. */
export const createTaskGraph = (parts: MembershipParts): TaskGraph => {
  const read = async (asked: readonly Pick<FactAsk, "subject_id" | "agent_ids">[], { tenant, correlationId }: GraphReader) => {
    try {
      const headers = await asService(parts, ["pip.read"], correlationId);
      const asks = asked.map((one) => ({ ...one, ...TASKS, tenant_id: tenant }));
      return (await ask(parts.membership, askFacts, { body: { asks }, headers })).facts;
    } catch (cause) {
      throw new Problem("membership_unavailable", { cause });
    }
  };
  return {
    groupsOf: async (person, within) => {
      const [found] = await read([{ subject_id: person }], within);
      const subject = found?.subject ?? null;
      if (subject === null || subject.disabled || !subject.tenant_ids.includes(within.tenant)) return undefined;
      return new Set(subject.groups);
    },
    linkOf: async (agent, person, within) => {
      const [found] = await read([{ subject_id: person, agent_ids: [agent] }], within);
      if (found?.agent?.controllers.includes(person) === true) return "control";
      // A paused one may go on: its agent is still the person's.
      const status = found?.delegation?.status;
      return status === "active" || status === "paused" ? "delegation" : undefined;
    },
    controlledBy: async (person, agents, within) => {
      if (agents.length === 0) return [];
      const asks = agents.map((agent) => ({ subject_id: person, agent_ids: [agent] }));
      const found = await read(asks, within);
      return agents.filter((_agent, at) => found[at]?.agent?.controllers.includes(person) === true);
    },
  };
};
