import { z } from "zod";
import { delegationImpact } from "./delegations.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { reason, removal } from "./graph-edit.ts";
import { cursorPage, nodeId, plainText, prose, skipPage, skippedPage, timestamp } from "./ids.ts";

/** Who controls an agent, who owns a thing, who has which role on it. */

const level = z.enum(["primary", "deputy"]);
const agent = z.object({ agent_id: plainText(1, 1024) });
const resource = z.object({ resource_id: plainText(1, 1024) });
const version = z.number().int();
const CONTROL = "/api/v1/agent/agents/{agent_id}/control";
const OWNERS = "/api/v1/resources/{resource_id}/owners";
const mayWrite = (decision: string) => withoutAgents({ scope: ["membership.write"], decision });
const mayRead = (decision: string) => withoutAgents({ scope: ["membership.read"], decision });
const problems = ["not_found", "already_exists", "unprocessable", "edge_not_allowed", "cross_tenant", "access_denied"] as const;

const controller = z.object({
  controller_id: z.string(),
  name: z.string(),
  node_type: z.string(),
  level,
  since: timestamp,
  granted_by: z.string().nullable(),
});

export const controlAgent = endpoint("membership", "PUT", CONTROL, {
  params: agent,
  body: z.strictObject({ controller_id: nodeId, level: level.default("primary"), reason }),
  reply: controller.omit({ name: true, node_type: true }).extend({ agent_id: z.string(), graph_version: version }),
  ...mayWrite("agents/control"),
  problems,
  summary: "Name a controller of an agent; a new primary one makes the old one a deputy.",
});

export const listControllers = endpoint("membership", "GET", "/api/v1/agent/agents/{agent_id}/controllers", {
  params: agent,
  reply: z.object({ agent_id: z.string(), controllers: z.array(controller) }),
  ...mayRead("agents/view_all"),
  problems: ["not_found"],
  summary: "Who controls an agent.",
});

export const dropController = endpoint("membership", "DELETE", CONTROL, {
  params: agent,
  ...removal,
  query: z.strictObject({ controller_id: nodeId.optional(), force: z.enum(["true", "false"]).default("false"), reason }),
  ...mayWrite("agents/control"),
  problems: [...problems, "ambiguous", "last_controller"],
  summary: "Take a controller from an agent. The last one goes with force=true alone, and the agent's delegations pause.",
});

const switched = z.object({
  agent_id: z.string(),
  state: z.string(),
  graph_version: version,
  /** Live ones that it holds or gave: they rest with it, without a change of their own. */
  delegations_stopped: z.number().int(),
  running_calls: z.array(z.string()),
});
const switching = {
  params: agent,
  body: z.strictObject({ reason: prose(3, 500) }),
  reply: switched,
  ...mayWrite("agents/suspend"),
  problems: [...problems, "conflict"] as const,
};

export const suspendAgent = endpoint("membership", "POST", "/api/v1/agent/agents/{agent_id}/suspend", {
  ...switching,
  summary: "Switch an agent off: no call of it is reserved after this answers, on any node.",
});

export const resumeAgent = endpoint("membership", "POST", "/api/v1/agent/agents/{agent_id}/resume", {
  ...switching,
  summary: "Let a suspended agent go on with what it holds.",
});

export const agentImpact = endpoint("membership", "GET", "/api/v1/agent/agents/{agent_id}/impact", {
  params: agent,
  reply: delegationImpact.reply,
  ...mayRead("agents/suspend"),
  problems: ["not_found"],
  summary: "What switching an agent off would take away, and from whom.",
});

export const effectiveTools = endpoint("membership", "GET", "/api/v1/agent/agents/{agent_id}/effective-tools", {
  params: agent,
  query: z.strictObject({
    /** The caller unless given; others' are told to whoever may see all decisions. */
    user_id: nodeId.optional(),
    ...cursorPage,
  }),
  reply: z.object({
    tools: z.array(
      z.object({
        tool_id: z.string(),
        works: z.enum(["yes", "no", "step_up"]),
        /** The one that a call would go by. */
        delegation_id: z.string().optional(),
        /** Codes that a call would be refused with, of the graph, the ledger and the decision. */
        blocked_by: z.array(z.string()),
      }),
    ),
    graph_version: version,
    next_cursor: z.string().optional(),
  }),
  ...mayRead("agents/view_all"),
  problems: ["not_found", "invalid_cursor"],
  summary: "Which of an agent's tools work for somebody now, and what stands in the way of the others.",
});

const owner = z.object({
  owner_identity_id: z.string(),
  name: z.string(),
  node_type: z.string(),
  level,
  role: level,
  since: timestamp,
});

export const addOwner = endpoint("membership", "POST", OWNERS, {
  params: resource,
  body: z.strictObject({ owner_identity_id: nodeId, level: level.optional(), role: level.optional(), reason }),
  reply: owner.omit({ name: true, node_type: true }).extend({ resource_id: z.string(), graph_version: version }),
  moreStatuses: [201],
  ...mayWrite("resources/assign_owner"),
  problems: [...problems, "ambiguous"],
  summary: "Name an owner of a resource, tool, service or application; a new primary one makes the old one a deputy.",
});

export const listOwners = endpoint("membership", "GET", OWNERS, {
  params: resource,
  reply: z.object({ resource_id: z.string(), owners: z.array(owner) }),
  ...mayRead("identities/view_all"),
  problems: ["not_found"],
  summary: "Who owns it.",
});

export const assignRtr = endpoint("membership", "POST", "/api/v1/rtrs/assign", {
  body: z.strictObject({
    /** Kind of the actor, or `Identity`. */
    actor_label: plainText(1, 64),
    actor_id: nodeId,
    resource_id: nodeId,
    /** Id or name of a role on the resource's type. */
    rtr: plainText(1, 256),
    expires_at: timestamp.optional(),
    reason,
  }),
  reply: z.object({
    assignment_id: z.string(),
    actor_id: z.string(),
    resource_id: z.string(),
    rtr: z.string(),
    rtr_id: z.string(),
    graph_version: version,
  }),
  moreStatuses: [201],
  ...mayWrite("rtrs/assign"),
  problems: [...problems, "label_mismatch", "ambiguous"],
  summary: "Give an actor a role on a resource.",
});

export const dropOwner = endpoint("membership", "DELETE", `${OWNERS}/{owner_id}`, {
  params: z.object({ resource_id: plainText(1, 1024), owner_id: plainText(1, 1024) }),
  ...removal,
  ...mayWrite("resources/assign_owner"),
  problems,
  summary: "Take an owner away.",
});

const assignment = z.object({
  assignment_id: z.string(),
  actor_id: z.string(),
  resource_id: z.string(),
  rtr: z.string(),
  rtr_id: z.string(),
  expires_at: timestamp.nullable(),
});

export const listRtrAssignments = endpoint("membership", "GET", "/api/v1/rtrs/assignments", {
  query: z.strictObject({
    actor_id: nodeId.optional(),
    resource_id: nodeId.optional(),
    ...skipPage,
  }),
  reply: z.object({ items: z.array(assignment), ...skippedPage }),
  ...mayRead("identities/view_all"),
  summary: "Who has which role on which resource; those that have ended are none.",
});

export const dropRtrAssignment = endpoint("membership", "DELETE", "/api/v1/rtrs/assignments/{assignment_id}", {
  params: z.object({ assignment_id: plainText(1, 1024) }),
  ...removal,
  ...mayWrite("rtrs/assign"),
  problems,
  summary: "Take a role on a resource away.",
});
