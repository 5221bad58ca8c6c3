import { reasons } from "#contract/authzen.ts";
import type { AuditOutcome } from "#contract/events.ts";
import { usdText } from "#contract/ids.ts";
import type { OpenedRecord } from "#contract/tool-call-record.ts";
import type { Problem } from "#contract/problem.ts";
import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { EntryActor, EntryDraft } from "#events/audit/entry.ts";
import type { Arguments } from "./steps/validate-arguments.ts";
import type { AuthorizedCall } from "./steps/check-chain.ts";
import type { ReservedCall } from "./steps/reserve-budget.ts";
import type { CallParts, ResolvedCall } from "#crud/tools/tool-call.ts";

/** What of the record is known where it opens; of a call that never started, less. */
type CallData = { readonly tool: string } & Partial<OpenedRecord>;

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

const calledAs = ({ call, tool }: ResolvedCall) =>
  ({
    tool: tool.name,
    source: tool.source,
    mcp_method: call.method,
    mcp_name: call.name.slice(0, 128),
    view: call.view.name,
    definition_digest: tool.digest,
  }) satisfies CallData;

/** The entry that opens a call; the act's id is the call's. */
export const openedEntry = (reserved: ReservedCall): Omit<EntryDraft, "outcome"> => {
  const { given, permit, held } = reserved;
  const data: CallData & Omit<OpenedRecord, "replayed"> = {
    ...calledAs(reserved),
    argument_names: given.names.slice(0, 50),
    arguments_digest: given.digest,
    reserve: { steps: held?.steps ?? 0, usd: usdText(held?.micro ?? 0n) },
  };
  return entryOf(reserved, data, { decisionId: permit.decisionId, delegationId: held?.delegationId });
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
