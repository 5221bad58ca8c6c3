import { reasons } from "#contract/authzen.ts";
import type { AuditOutcome } from "#contract/events.ts";
import { usdText } from "#contract/ids.ts";
import type { Problem } from "#contract/problem.ts";
import { actorKindOf } from "#authn/actor-kind.ts";
import type { EntryActor, EntryDraft, OpenAct } from "#events/audit/entry.ts";
import type { Arguments } from "./steps/validate-arguments.ts";
import type { AuthorizedCall } from "./steps/check-chain.ts";
import type { Held } from "./steps/reserve-budget.ts";
import type { CallParts, ResolvedCall } from "./tool-call.ts";

/** What the record of a tool call holds, whoever writes it: digests, counts and codes, never an argument, a result or a secret. */
export type CallData = {
  readonly tool: string;
  readonly source?: "system" | "workflow";
  readonly mcp_method?: string;
  /** As the client spelt the tool's name. */
  readonly mcp_name?: string;
  readonly view?: string;
  readonly argument_names?: readonly string[];
  readonly arguments_digest?: string | undefined;
  readonly definition_digest?: string;
  readonly reserve?: { readonly steps: number; readonly usd: string };
  /** The answer of an earlier call with the same key was shown again. */
  readonly replayed?: true;
};

/** What its end adds. */
export type CallEnd = {
  readonly duration_ms: number;
  readonly upstream_status: number | undefined;
  readonly output_digest?: string;
  readonly rows_out?: number;
  /** Places that were hidden. */
  readonly masked?: readonly string[];
  readonly settle?: { readonly state?: "released" | "pending"; readonly steps: number; readonly usd: string };
  readonly left?: { readonly steps: number; readonly usd: string };
  readonly secrets: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly audience: string | undefined;
};

const actorOf = (caller: ResolvedCall["call"]["caller"], delegationId: string | undefined): EntryActor => ({
  subject: caller.sub,
  kind: actorKindOf(caller),
  amr: caller.amr,
  agent_id: caller.agent,
  delegation_id: delegationId,
  client_id: caller.clientId,
  acr: caller.acr,
});

const entryOf = (
  { call }: ResolvedCall,
  data: CallData,
  by: { readonly decisionId: string | undefined; readonly delegationId?: string | undefined },
): Omit<EntryDraft, "outcome"> => ({
  tenant: call.caller.tenant,
  category: "tool_call",
  actor: actorOf(call.caller, by.delegationId),
  via: { service: "crud", view: call.view.name, dialect: call.dialect },
  resource: { type: "tool", id: data.tool },
  decisionId: by.decisionId,
  correlationId: call.correlationId,
  data,
});

const calledAs = ({ call, tool }: ResolvedCall): CallData => ({
  tool: tool.name,
  source: tool.source,
  mcp_method: call.method,
  mcp_name: call.name.slice(0, 128),
  view: call.view.name,
  definition_digest: tool.digest,
});

/** Commits the open entry; the act's id is the call's. Throws `audit_unavailable`, and then nothing may be sent. */
export const openRecord = (
  decided: AuthorizedCall,
  held: Held | undefined,
  { recorder }: Pick<CallParts, "recorder">,
): Promise<OpenAct> => {
  const { call, given, permit } = decided;
  const data: CallData = {
    ...calledAs(decided),
    argument_names: given.names.slice(0, 50),
    arguments_digest: given.digest,
    reserve: { steps: held?.steps ?? 0, usd: usdText(held?.micro ?? 0n) },
  };
  return recorder.open(entryOf(decided, data, { decisionId: permit.decisionId, delegationId: held?.delegationId }), call.callId);
};

/** The one entry of a call that was answered from what its key keeps. Throws `audit_unavailable`. */
export const recordReplay = (decided: AuthorizedCall, { recorder }: Pick<CallParts, "recorder">): Promise<void> => {
  const { call, tool, given, permit } = decided;
  const entry = entryOf(decided, { tool: tool.name, replayed: true, arguments_digest: given.digest }, { decisionId: permit.decisionId });
  return recorder.one({ ...entry, outcome: "ok", actId: call.callId });
};

const denials: ReadonlySet<string> = new Set([...reasons, "access_denied", "denied"]);

/** A decision said no, or something else stood in the way. */
export const refusalOutcome = (problem: Problem): AuditOutcome => (denials.has(problem.code) ? "denied" : "refused");

/** The one entry of a call that never started. If it cannot be written the refusal stands all the same. */
export const recordRefusal = async (
  known: ResolvedCall,
  given: Arguments | undefined,
  problem: Problem,
  parts: Pick<CallParts, "recorder" | "log">,
): Promise<void> => {
  const { callId, correlationId } = known.call;
  const decisionId = problem.options.members?.["decision_id"];
  const entry = entryOf(
    known,
    { ...calledAs(known), arguments_digest: given?.digest },
    { decisionId: typeof decisionId === "string" ? decisionId : undefined },
  );
  try {
    await parts.recorder.one({ ...entry, outcome: refusalOutcome(problem), code: problem.code, actId: callId });
  } catch (cause) {
    parts.log.error("tool_refusal_not_recorded", { call_id: callId, code: problem.code, correlation_id: correlationId, cause });
  }
};
