import { z } from "zod";
import { configIssue, workflowAddress } from "./configs.ts";
import { endpoint, withoutAgents } from "./endpoint.ts";
import { nodeId, plainText, queryIntegerOr, timestamp, usd } from "./ids.ts";
import { anyMembers, recordOf } from "./json-members.ts";
import { callKey, decidedProblems } from "./tools.ts";
import { reserveRefusals } from "./reservations.ts";
import { actingOnRun, runError, several } from "./workflow-runs.ts";

/** Workflows as people find and start them; how they are published stands in `configs.ts`, their runs in `workflow-runs.ts`. */

const workflowRow = z.object({
  /** As in addresses and names of tools, with `_` for `-`. */
  name: z.string(),
  /** The tenant's, without `tenant:`, or `all`. */
  namespace: z.string(),
  version: z.string(),
  title: z.string(),
  summary: z.string(),
  tags: z.array(z.string()),
  owner: z.string(),
  mcp_enabled: z.boolean(),
  status: z.enum(["serving", "degraded"]),
  runs: z.object({ live: z.number().int(), waiting: z.number().int() }),
  may: z.object({ start: z.boolean(), edit: z.boolean() }),
});

export const listWorkflows = endpoint("crud", "GET", "/workflows", {
  query: z.strictObject({
    search: plainText(1, 200).optional(),
    tag: several(plainText(1, 200)),
    status: z.enum(["serving", "degraded"]).optional(),
    limit: queryIntegerOr(50, 1, 200),
    cursor: z.string().max(2000).optional(),
  }),
  repeated: ["tag"],
  reply: z.object({ items: z.array(workflowRow), next_cursor: z.string().optional(), stream_seq: z.number().int().optional() }),
  ...withoutAgents({ scope: ["workflows.read"], decision: "workflows/view_all" }),
  problems: ["invalid_cursor"],
  summary: "Workflows of the caller's tenant, by name.",
});

export const validateWorkflow = endpoint("crud", "POST", "/workflows/validate", {
  textBody: ["application/yaml", "application/json"],
  reply: z.object({ valid: z.boolean(), errors: z.array(configIssue), warnings: z.array(z.string()) }),
  ...withoutAgents({ scope: ["config.write"], decision: "config/write" }),
  problems: ["busy", "membership_unavailable"],
  summary: "Check a workflow as publishing it would; nothing is written.",
});

/** What a run has, as its endpoints answer it; `workflow-runs.ts` has the whole. */
const startedRun = z.looseObject({ id: z.string(), status: z.string(), state_version: z.number().int(), created_at: timestamp });

const startProblems = [
  ...decidedProblems,
  ...reserveRefusals,
  "audit_unavailable",
  "not_found",
  "not_startable",
  "invalid_input",
  "idempotency_mismatch",
  "value_too_large",
  "rate_limited",
  "kill_switch_unknown",
  "membership_unavailable",
  "busy",
] as const;

export const startWorkflow = endpoint("crud", "POST", "/workflows/{name}/start", {
  params: z.object({ name: workflowAddress }),
  body: z.strictObject({
    data: anyMembers.default({}),
    /** The version in force unless given. */
    version: z.string().max(100).optional(),
    /** Names the run: the same key and data give the same run. */
    idempotency_key: callKey.optional(),
    wait_seconds: z.int().min(0).max(20).default(0),
  }),
  keepsDigits: true,
  reply: z.object({
    status: z.literal("accepted"),
    message: z.string(),
    correlation_id: z.string(),
    execution_time_ms: z.number().int(),
    run_id: z.string(),
    result: startedRun,
  }),
  status: 202,
  moreStatuses: [200],
  ...withoutAgents({ scope: ["workflows.start"], decision: "tool/tools/call" }),
  problems: startProblems,
  summary: "Start a run: 202 with its address, 200 where it ended meanwhile.",
});

export const rerunRun = endpoint("crud", "POST", "/workflows/runs/{id}/rerun", {
  ...actingOnRun,
  /** `version`: the one in force unless given. */
  body: z.strictObject({ version: z.string().max(100).optional() }).optional(),
  status: 202,
  problems: [...actingOnRun.problems, ...startProblems],
  summary: "Start a new run with the data of one that has ended; the caller is its initiator, as of any start.",
});

/** What a step of a simulation comes to: a call's output or error, or what a person decides, with the data of the form as `output`. */
const assumption = z
  .strictObject({
    output: z.unknown().optional(),
    error: z.strictObject({ status: z.int().min(400).max(599), detail: plainText(1, 1000).optional() }).optional(),
    decision: plainText(1, 64).optional(),
  })
  .refine((one) => one.error === undefined || !("output" in one), "has an output or an error");
/** By the path of the step, such as `/do/approve`. */
const assumptions = recordOf(z.string().max(1000), assumption);
export type SimulationAssumptions = z.output<typeof assumptions>;

const simulation = z.object({
  /** Steps in the order in which they are entered. */
  path: z.array(
    z.object({
      path: z.string(),
      kind: z.string(),
      tool: z.string().optional(),
      /** `(unknown)` stands for a value that only a real call gives. */
      arguments: z.unknown().optional(),
      /** Its result is assumed, or the example of its tool's output schema. */
      assumed: z.boolean(),
      /** Of a call: `permit`, the code of its refusal, or `unknown` where its arguments are; of a person what is assumed. */
      decision: z.string().optional(),
      decision_id: z.string().optional(),
      cost_usd: usd,
      /** A reason of runs; `seconds` of a wait for a time. */
      waits: z.object({ reason: z.string(), seconds: z.number().optional() }).optional(),
    }),
  ),
  /** Steps of no round of a loop; what is inside of them is not listed. */
  not_taken: z.array(z.object({ path: z.string(), because: z.enum(["condition", "jump", "nothing_caught", "no_items", "not_reached"]) })),
  outcome: z.enum(["completed", "waiting", "faulted", "undetermined"]),
  cost: z.object({ usd, steps: z.int() }),
  errors: z.array(runError),
});
export type Simulation = z.output<typeof simulation>;

export const simulateWorkflow = endpoint("crud", "POST", "/workflows/{name}/simulate", {
  params: z.object({ name: workflowAddress }),
  body: z
    .strictObject({
      data: anyMembers.default({}),
      /** The version in force unless given. */
      version: z.string().max(100).optional(),
      /** A document that is not published; needs the scope `config.write`, and `config/write` of the workflow. */
      source: z.string().min(1).max(262_144).optional(),
      /** The agent for which the steps are decided, on behalf of the caller. */
      as_agent: nodeId.optional(),
      assume: assumptions.default({}),
    })
    .refine(({ version, source }) => version === undefined || source === undefined, "has a version or a source"),
  keepsDigits: true,
  reply: simulation,
  ...withoutAgents({ scope: ["workflows.start"], decision: "tool/tools/call" }),
  problems: [...startProblems, "invalid_definition", "unprocessable", "insufficient_scope"],
  summary: "What a start would do: real decisions, and nothing reserved, written or sent.",
});
