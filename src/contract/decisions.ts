import { z } from "zod";
import { obligation, reasons } from "./authzen.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { cursorPage, decisionId, plainText, queryIntegerOr, timestamp } from "./ids.ts";

/** What was decided, why, and what would change it. */

export const checkOutcome = z.enum(["pass", "fail", "skipped", "depends"]);
export const decisionCheck = z.object({
  name: z.enum(["subject", "delegation", "capability", "chain", "steps", "budget", "step-up", "policy", "data-scope"]),
  outcome: checkOutcome,
  input: z.string().optional(),
  /** The line of the policy that asks for it, for who may see policies; absent where none does, or it was not looked at. */
  source: z.object({ file: z.string(), line: z.number().optional() }).optional(),
});

/** One edge of the graph path that was looked for: there, or missing. */
export const decisionEdge = z.object({
  kind: z.string(),
  from: z.string(),
  to: z.string(),
  id: z.string().optional(),
  present: z.boolean(),
});

export const decidingPolicy = z.object({
  id: z.string(),
  description: z.string(),
  /** False: it did not decide, but would have permitted with the first remedy. */
  decided: z.boolean(),
  effect: z.enum(["permit", "forbid"]).optional(),
  text: z.string().optional(),
  file: z.string().optional(),
  line: z.number().optional(),
});

export const remedyStep = z.object({
  kind: z.enum(["sign_in_again", "approval", "reactivate_edge", "raise_limit", "reapprove_definition", "add_edge"]),
  edge: z.object({ kind: z.string(), from: z.string(), to: z.string() }).optional(),
  context: z.record(z.string(), z.unknown()).optional(),
  text: z.string(),
  who_can: z.array(z.string()),
});

export const remedy = z.object({
  complete: z.boolean(),
  changes: z.array(
    z.object({
      steps: z.array(remedyStep),
      cost: z.number(),
      /** Other pairs that it opens: of whole collections, of this very thing, and of each thing that is granted to a group it joins. */
      also_allows: z.number(),
      /** There may be more than that: not all could be asked about. */
      also_allows_more: z.literal(true).optional(),
      /** Some of them, `type/action`. */
      sample: z.array(z.string()),
    }),
  ),
  blocked_by: z.array(z.string()),
});
export type Remedy = z.infer<typeof remedy>;

/** What a version of the policies in shadow made of a decision, after the answer had left. Obligations and policies by id. */
export const shadowDecision = z.object({
  policy_version: z.string(),
  decision: z.boolean(),
  reason: z.string().optional(),
  obligations: z.array(z.string()),
  policies: z.array(z.string()),
});
export type ShadowDecision = z.infer<typeof shadowDecision>;

/** What a viewer gets: the coarse members always, the others as their rights allow. */
export const decisionRecord = z.object({
  decision_id: z.string(),
  decided_at: timestamp,
  decision: z.boolean(),
  reason: z.string().optional(),
  sentence: z.string(),
  /** Only for services of Sallyport, and in lists over all tenants. */
  tenant: z.string().optional(),
  subject: z.object({ id: z.string(), name: z.string().optional() }).optional(),
  agent: z.object({ id: z.string(), name: z.string().optional() }).optional(),
  action: z.string(),
  /** A secret has no id here, only its reference. */
  resource: z.object({ type: z.string(), id: z.string().optional(), ref: z.string().optional() }),
  requestable: z.boolean(),
  /** Only in lists. False: asked to know what to show (navigation, widgets, lists); nobody was refused by it. */
  enforced: z.boolean().optional(),
  correlation_id: z.string().optional(),
  policy_version: z.string().optional(),
  graph_version: z.number().optional(),
  pep: z.string().optional(),
  latency_ms: z.number().optional(),
  checks: z.array(decisionCheck).optional(),
  edges: z.array(decisionEdge).optional(),
  policies: z.array(decidingPolicy).optional(),
  obligations: z.array(obligation).optional(),
  errors: z.array(z.string()).optional(),
  facts: z.unknown().optional(),
  /** Circumstances that were put before the policies beside the facts. */
  inputs: z.record(z.string(), z.unknown()).optional(),
  cached: z.boolean().optional(),
  /** Absent where no version was in shadow, or it was not asked; there within about a second of the decision. */
  shadow: shadowDecision.optional(),
  /** What the same question is answered now, with the graph as it is. */
  now: z.object({ decision: z.boolean(), reason: z.string().optional() }).optional(),
  remedy: remedy.optional(),
});
export type DecisionRecord = z.infer<typeof decisionRecord>;

/** A tool call fetches its secrets at its start; a permit older than this is for something else. */
const CALL_SECONDS = 300;

/** Whether it is the permit of a call of this tool that this service asked for, a moment ago. */
export const permitsCall = (
  { decision, action, resource, pep, decided_at: at }: Pick<DecisionRecord, "decision" | "action" | "resource" | "pep" | "decided_at">,
  call: { readonly tool: string; readonly by: string },
  now: Date,
): boolean =>
  decision &&
  action === "tools/call" &&
  resource.type === "tool" &&
  resource.id === call.tool &&
  pep === call.by &&
  (now.getTime() - Date.parse(at)) / 1000 <= CALL_SECONDS;

export const getDecision = endpoint("pdp", "GET", "/access/v1/decisions/{id}", {
  params: z.object({ id: decisionId }),
  query: z.strictObject({ remedy: z.enum(["true", "false"]).optional() }),
  reply: decisionRecord,
  auth: "bearer",
  agents: "own",
  problems: ["not_found", "not_supported", "step_up_required", "busy"],
  summary: "Why a decision fell as it did, as far as the viewer may know, and the smallest change that would allow it.",
});

/** What lists of decisions can be sorted by. */
export const decisionSorts = ["time", "subject", "agent", "action", "resource", "decision", "reason"] as const;
export type DecisionSort = (typeof decisionSorts)[number];

const wanted = plainText(0, 1024).optional();

export const listDecisions = endpoint("pdp", "GET", "/access/v1/decisions", {
  query: z.strictObject({
    /** `own`: only those about the caller, whatever else the caller may see. */
    whose: z.enum(["own", "all"]).default("all"),
    subject: wanted,
    agent: wanted,
    action: wanted,
    resource_type: wanted,
    /** Id of the thing, or the reference of a secret. */
    resource: wanted,
    /**
     * How these five are meant: `exact`, as they are written; `part`, anywhere in the id, and of subject and agent in the name that
     * they had then, in any case.
     */
    match: z.enum(["exact", "part"]).default("exact"),
    decision: z.enum(["true", "false"]).optional(),
    reason: z.enum(reasons).optional(),
    correlation_id: wanted,
    /** `true`: only what somebody did and was permitted or refused; `false`: only what was asked to know what to show. */
    enforced: z.enum(["true", "false", "any"]).optional(),
    from: timestamp.optional(),
    to: timestamp.optional(),
    /** By anything but `time` the newest 5,000 calls are sorted; `searched_to` then says how far back they go. */
    sort: z.enum(decisionSorts).default("time"),
    order: z.enum(["asc", "desc"]).default("desc"),
    ...cursorPage,
  }),
  reply: z.object({
    decisions: z.array(decisionRecord),
    nextCursor: z.string().optional(),
    /** One answer looks through 5,000 calls at most. Up to here was looked; `nextCursor`, where there is one, looks further. */
    searched_to: timestamp.optional(),
  }),
  auth: "bearer",
  agents: "own",
  decision: "decisions/view_all",
  problems: ["invalid_cursor", "step_up_required"],
  summary: "Decisions, newest first unless asked otherwise: one's own, or all of the tenant for who may see them.",
});

export const decisionValues = endpoint("pdp", "GET", "/access/v1/decisions/values", {
  query: z.strictObject({
    of: z.enum(["subject", "agent", "action", "resource_type", "resource"]),
    /** Anywhere in the value or its name, in any case. */
    text: wanted,
    limit: queryIntegerOr(8, 1, 50),
  }),
  reply: z.object({ values: z.array(z.object({ value: z.string(), name: z.string().optional() })) }),
  ...withoutAgents({ decision: "decisions/view_all" }),
  problems: [],
  summary: "What a list of decisions can be filtered by: values of the newest 5,000 calls that the caller may see, the last used first.",
});
