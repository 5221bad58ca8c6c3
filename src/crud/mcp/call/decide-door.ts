import { usdFromMicro } from "#contract/ids.ts";
import { isProblemCode, Problem, type ProblemCode } from "#contract/problem.ts";
import { isFreshlyStrong, type Caller } from "#authn/caller.ts";
import type { DecideAsk, Decided, Decider } from "#pdp/decide.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { Arguments } from "./arguments-door.ts";
import type { Delegated } from "./delegation-door.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import { showCall } from "./shown-call.ts";

/** The row filter and masks that a permit obliges to. */
export interface ScopeObligation {
  readonly row_filter_sql: string;
  readonly column_mask: Readonly<Record<string, string>>;
}

export interface Permit {
  /** Of the `tools/call` decision. */
  readonly decisionId: string;
  readonly scopes: readonly ScopeObligation[];
  /** Answers about the actions that lift masks, in order, as far as they were asked with the call. */
  readonly lifts: readonly Decided[];
}

type DecideParts = Pick<CorridorParts, "decider" | "publicOrigin" | "now">;

export interface DecideInput {
  readonly caller: Caller;
  readonly tool: Tool;
  readonly arguments: Arguments;
  readonly delegated: Delegated;
  readonly viewName: string;
  readonly correlationId: string;
}

/** What is asked about a tool: facts this service vouches for. Also of lists, with `could`. */
export const toolAsk = (tool: Tool, action: "tools/call" | "tools/list", context: Readonly<Record<string, unknown>>): DecideAsk => ({
  type: "tool",
  action,
  id: tool.name,
  properties: {
    source: tool.source,
    provider: tool.provider,
    instance: tool.instance,
    ...(tool.env === undefined ? {} : { env: tool.env }),
    ...(tool.owner === undefined ? {} : { owner: tool.owner }),
    read_only: tool.rules.isReadOnly,
    destructive: tool.rules.isDestructive,
    definition_digest: tool.digest,
    cost_usd: usdFromMicro(tool.rules.reserveMicro),
  },
  context,
});

/** Where and how strongly to sign in before the call is repeated. */
export const stepUpOf = (publicOrigin: string, level = "strong", maxAgeSeconds = 300) => ({
  level,
  max_age_s: maxAgeSeconds,
  url: `${publicOrigin}/auth/login?acr_values=${level}&max_age=${maxAgeSeconds}`,
});

/** What to ask an approval for: the very question that was denied, with what its denial lets be asked. */
const offerOf = (decided: Decided, asked: DecideAsk | undefined, caller: Caller, publicOrigin: string) =>
  decided.accessRequest === undefined || asked === undefined
    ? {}
    : {
        access_request: {
          ...decided.accessRequest,
          endpoint: `${publicOrigin}/access/v1/requests`,
          evaluation_id: decided.decisionId,
          subject: { type: "identity", id: caller.sub },
          action: { name: asked.action },
          resource: { type: asked.type, id: asked.id ?? "*" },
        },
      };

/** The refusal of a denial: the decision's reason is the code where it is one of ours. */
export const denialOf = (decided: Decided, publicOrigin: string, caller?: Caller, asked?: DecideAsk): Problem => {
  const reason = decided.reason ?? "";
  const code: ProblemCode = isProblemCode(reason) ? reason : "access_denied";
  return new Problem(code, {
    members: {
      decision_id: decided.decisionId,
      ...(code === "step_up_required" ? { step_up: stepUpOf(publicOrigin) } : {}),
      ...(caller === undefined ? {} : offerOf(decided, asked, caller, publicOrigin)),
    },
  });
};

const stepUpRefusal = (decisionId: string, publicOrigin: string, level: string, maxAgeSeconds: number): Problem =>
  new Problem("step_up_required", { members: { decision_id: decisionId, step_up: stepUpOf(publicOrigin, level, maxAgeSeconds) } });

const isStrongEnough = (caller: Caller, level: string, maxAgeSeconds: number, now: Date): boolean =>
  isFreshlyStrong(caller, now, maxAgeSeconds) && (level !== "phishing_resistant" || caller.acr === level);

/** An obligation that cannot be met makes a permit a denial. */
const meetObligations = (decided: Decided, caller: Caller, parts: Pick<DecideParts, "now" | "publicOrigin">): readonly ScopeObligation[] =>
  decided.obligations.flatMap((obligation) => {
    const properties = obligation.properties ?? {};
    if (obligation.type === "step-up") {
      const maxAge = typeof properties["max_age_seconds"] === "number" ? properties["max_age_seconds"] : 300;
      const level = typeof properties["acr_value"] === "string" ? properties["acr_value"] : "strong";
      if (!isStrongEnough(caller, level, maxAge, parts.now())) throw stepUpRefusal(decided.decisionId, parts.publicOrigin, level, maxAge);
      return [];
    }
    const filter = properties["row_filter_sql"];
    const mask = properties["column_mask"];
    if (properties["kind"] === "data_scope" && typeof filter === "string" && typeof mask === "object" && mask !== null) {
      return [{ row_filter_sql: filter, column_mask: mask as Readonly<Record<string, string>> }];
    }
    throw new Problem("obligation_unsupported", { members: { decision_id: decided.decisionId } });
  });

/** Throws the denial's reason as its code, and what a permit obliges to and the caller does not have. */
export const requireEntry = (decided: Decided, caller: Caller, parts: Pick<DecideParts, "publicOrigin" | "now">): void => {
  if (!decided.decision) throw denialOf(decided, parts.publicOrigin);
  meetObligations(decided, caller, parts);
};

/** Actions of the rows' type whose permit lifts a mask of the file, each once. */
const liftAsks = ({ rows, masks }: Tool["rules"]): readonly DecideAsk[] => {
  if (rows === undefined) return [];
  const actions = new Set(masks.map((mask) => mask.unlessAllowed).filter((action) => action !== undefined));
  return [...actions].map((action) => ({ type: rows.resourceType, action, context: { showing: true } }));
};

/**
 * One batch, first denial wins: the call itself, then the tool's own mappings. Throws the denial's reason as its code. The
 * `lifts` stand behind them, so that none is asked of a call that is refused; a denied one ends the batch and refuses nothing.
 */
export const requirePermit = async (input: DecideInput, parts: DecideParts, lifts: readonly DecideAsk[] = []): Promise<Permit> => {
  const { caller, tool } = input;
  const shown = showCall(tool, input.arguments);
  const call = toolAsk(tool, "tools/call", {
    shown_call: shown,
    view: input.viewName,
    arguments_digest: input.arguments.digest,
    delegated: (input.delegated.capabilities?.size ?? 0) > 0,
    tool_in_capabilities: input.delegated.capabilities?.has(tool.name) ?? false,
  });
  const mapped = { toolName: tool.name, arguments: input.arguments.value, caller, now: parts.now() };
  // An approval of any of these is for this call alone: the same arguments to the same definition.
  const bound = { shown_call: shown, arguments_digest: input.arguments.digest, definition_digest: tool.digest };
  const mappings = tool.rules.mappings.flatMap((mapping) => mapping.asks(mapped));
  const asks = [call, ...mappings.map((ask): DecideAsk => ({ ...ask, context: { ...ask.context, ...bound } }))];
  const all = [...asks, ...lifts];
  const decided = await parts.decider.decideMany(caller, all, input.correlationId, "deny_on_first_deny");
  const answers = decided.slice(0, asks.length);
  const at = answers.findIndex((answer) => !answer.decision);
  const denied = answers[at];
  if (denied !== undefined) throw denialOf(denied, parts.publicOrigin, caller, asks[at]);
  const [first] = answers;
  // Shorter than what was asked it may only be behind a denial.
  const isWhole = decided.length === all.length || decided.at(-1)?.decision === false;
  if (first === undefined || answers.length !== asks.length || !isWhole) throw new Problem("decision_unavailable");
  const { stepUp } = tool.rules;
  if (stepUp !== undefined && !isStrongEnough(caller, stepUp.level, stepUp.maxAgeSeconds, parts.now())) {
    throw stepUpRefusal(first.decisionId, parts.publicOrigin, stepUp.level, stepUp.maxAgeSeconds);
  }
  return {
    decisionId: first.decisionId,
    scopes: answers.flatMap((answer) => meetObligations(answer, caller, parts)),
    lifts: decided.slice(asks.length),
  };
};

/** As `requirePermit`, and in the same batch whether the masks of the file are lifted for this caller. */
export const requireCall = (input: DecideInput, parts: DecideParts): Promise<Permit> =>
  requirePermit(input, parts, liftAsks(input.tool.rules));

/**
 * Actions of the rows' type that lift a mask of the file for this caller: those that the permit's batch answered, and what a
 * denial in it left unasked. No call where nothing was left. A permit with an obligation lifts nothing.
 */
export const gatherLifted = async (
  input: DecideInput,
  permit: Pick<Permit, "lifts">,
  decider: Pick<Decider, "decideMany">,
): Promise<ReadonlySet<string>> => {
  const asks = liftAsks(input.tool.rules);
  const left = asks.slice(permit.lifts.length);
  const later = left.length === 0 ? [] : await decider.decideMany(input.caller, left, input.correlationId);
  const answers = [...permit.lifts, ...later];
  return new Set(
    asks.filter((_ask, index) => answers[index]?.decision === true && answers[index]?.obligations.length === 0).map(({ action }) => action),
  );
};
