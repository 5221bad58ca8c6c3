import { usdFromMicro } from "#contract/ids.ts";
import { isProblemCode, Problem, type ProblemCode } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { EvaluationQuery, PdpClient, RefusalHere } from "#pdp-client/pdp-client.ts";
import type { InternalContext } from "#pdp-client/internal-context.ts";
import { dataScopesOf, meetsAt, type ScopeObligation, type Decision } from "#pdp-client/obligations.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { ValidatedCall } from "./validate-arguments.ts";
import { showCall } from "#crud/mcp/call/steps/shown-call.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";

export interface Permit {
  /** Of the `tools/call` decision. */
  readonly decisionId: string;
  readonly scopes: readonly ScopeObligation[];
  /** Answers about the actions that lift masks, in order, as far as they were asked with the call. */
  readonly lifts: readonly Decision[];
}

/** Everything that is decided about it is permitted. */
export interface PermittedCall extends ValidatedCall {
  readonly permit: Permit;
}

type DecideParts = Pick<CallParts, "pdpClient" | "publicOrigin" | "now">;

const meets = meetsAt<"tools">({ data_scope: "Rows and columns are cut out of the result: `filter-output.ts`." });

/** Facts of a tool that this service vouches for. */
export const toolProperties = (tool: Tool) => ({
  source: tool.source,
  provider: tool.provider,
  instance: tool.instance,
  env: tool.env,
  owner: tool.owner,
  read_only: tool.rules.isReadOnly,
  destructive: tool.rules.isDestructive,
  definition_digest: tool.digest,
  cost_usd: usdFromMicro(tool.rules.reserveMicro),
});

/** What is asked about a tool. Also of lists, with `could`. */
export const toolAsk = (tool: Tool, action: "tools/call" | "tools/list", context: InternalContext): EvaluationQuery => ({
  type: "tool",
  action,
  id: tool.name,
  properties: toolProperties(tool),
  meets,
  context,
});

/** What to ask an approval for: the very question that was denied, with what its denial lets be asked. */
const offerOf = (decided: Decision, asked: EvaluationQuery | undefined, caller: Caller, publicOrigin: string) =>
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

/** The decision's reason as a code, where it is one of ours. */
export const codeOf = (reason: unknown): ProblemCode => (typeof reason === "string" && isProblemCode(reason) ? reason : "access_denied");

/**
 * Why a decision does not open what was asked for, in the words of the tool protocol: the reason is the code where it is one of ours.
 * `undefined`: it does. `asked` adds to a denial what to ask an approval for.
 */
const refusalOf = (
  decided: Decision,
  caller: Caller,
  parts: Pick<DecideParts, "pdpClient" | "publicOrigin">,
  here: Pick<RefusalHere, "meets" | "signIn"> = {},
  asked?: EvaluationQuery,
): Problem | undefined => {
  const refusal = parts.pdpClient.refusal(caller, decided, { ...here, publicOrigin: parts.publicOrigin });
  if (refusal === undefined) return undefined;
  const { reason, step_up } = refusal.options.members ?? {};
  const { headers } = refusal.options;
  return new Problem(codeOf(reason), {
    members: {
      decision_id: decided.decisionId,
      step_up,
      ...offerOf(decided, asked, caller, parts.publicOrigin),
    },
    headers,
  });
};

/** Throws the denial's reason as its code, and what a permit obliges to and the caller does not have. */
export const requireEntry = (decided: Decision, caller: Caller, parts: Pick<DecideParts, "pdpClient" | "publicOrigin">): void => {
  const refusal = refusalOf(decided, caller, parts);
  if (refusal !== undefined) throw refusal;
};

/** Actions of the rows' type whose permit lifts a mask of the file, each once. */
const liftAsks = ({ rows, masks }: Tool["rules"]): readonly EvaluationQuery[] => {
  if (rows === undefined) return [];
  const actions = new Set(masks.map((mask) => mask.unlessAllowed).filter((action) => action !== undefined));
  return [...actions].map((action) => ({ type: rows.resourceType, action, context: { showing: true } }));
};

/** The call itself and the tool's own mappings, in order. */
const asksOf = ({ call, tool, given }: ValidatedCall, now: Date): readonly EvaluationQuery[] => {
  const shown = showCall(tool, given);
  // An approval of any of these is for this call alone: the same arguments to the same definition.
  const workflow = call.step === undefined ? {} : { workflow: call.step.workflow };
  const simulated = call.isSimulation === true ? { simulation: true, showing: true } : {};
  const bound = { shown_call: shown, arguments_digest: given.digest, ...workflow, ...simulated };
  const mapped = { toolName: tool.name, arguments: given.value, caller: call.caller, now };
  return [
    toolAsk(tool, "tools/call", { ...bound, view: call.view.name }),
    ...tool.rules.mappings
      .flatMap((mapping) => mapping.asks(mapped))
      .map((ask) => ({ ...ask, meets, context: { ...ask.context, ...bound, definition_digest: tool.digest } })),
  ];
};

/**
 * One batch, first denial wins. Throws the denial's reason as its code. The `lifts` stand behind what must be permitted, so that none is
 * asked of a call that is refused; a denied one ends the batch and refuses nothing.
 */
const requirePermit = async (known: ValidatedCall, parts: DecideParts, lifts: readonly EvaluationQuery[]): Promise<Permit> => {
  const { call, tool } = known;
  const { caller } = call;
  const asks = asksOf(known, parts.now());
  const all = [...asks, ...lifts];
  const decided = await parts.pdpClient.decideMany(caller, all, call.correlationId, "deny_on_first_deny");
  const answers = decided.slice(0, asks.length);
  // Who signs in for the policies' sake need not do it once more for the tool's.
  const refusalAt = (answer: Decision, at: number): Problem | undefined =>
    refusalOf(answer, caller, parts, { meets, signIn: at === 0 ? tool.rules.stepUp : undefined }, asks[at]);
  const denied = answers.findIndex((answer) => !answer.decision);
  if (denied >= 0) throw refusalAt(answers[denied] as Decision, denied);
  const [first] = answers;
  // Shorter than what was asked it may only be behind a denial.
  const isWhole = decided.length === all.length || decided.at(-1)?.decision === false;
  if (first === undefined || answers.length !== asks.length || !isWhole) throw new Problem("decision_unavailable");
  const refusal = answers.map(refusalAt).find((found) => found !== undefined);
  if (refusal !== undefined) throw refusal;
  return {
    decisionId: first.decisionId,
    scopes: answers.flatMap((answer) => dataScopesOf(answer.obligations)),
    lifts: decided.slice(asks.length),
  };
};

/** The call and the tool's own mappings are permitted; whether masks of the file are lifted is asked in the same batch. */
export const requireCall = async (known: ValidatedCall, parts: DecideParts): Promise<PermittedCall> => ({
  ...known,
  permit: await requirePermit(known, parts, liftAsks(known.tool.rules)),
});

/** Asks once more what was permitted a moment ago. Throws why it is not any more. */
export const requireStill = async (permitted: PermittedCall, parts: DecideParts): Promise<void> =>
  void (await requirePermit(permitted, parts, []));

/**
 * Actions of the rows' type that lift a mask of the file for this caller: those that the permit's batch answered, and what a
 * denial in it left unasked. No call where nothing was left. A permit with an obligation lifts nothing.
 */
export const gatherLifted = async (
  { call, tool, permit }: PermittedCall,
  pdpClient: Pick<PdpClient, "decideMany">,
): Promise<ReadonlySet<string>> => {
  const asks = liftAsks(tool.rules);
  const left = asks.slice(permit.lifts.length);
  const later = left.length === 0 ? [] : await pdpClient.decideMany(call.caller, left, call.correlationId);
  const answers = [...permit.lifts, ...later];
  return new Set(
    asks.filter((_ask, index) => answers[index]?.decision === true && answers[index]?.obligations.length === 0).map(({ action }) => action),
  );
};
