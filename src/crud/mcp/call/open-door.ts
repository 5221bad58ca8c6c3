import { usdText } from "#contract/ids.ts";
import type { EntryActor, EntryDraft, OpenAct } from "#events/audit/entry.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { Arguments } from "./arguments-door.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import type { Held } from "./reserve-door.ts";
import type { ToolCall } from "./tool-call.ts";

/** Who acts, for the record. */
export const actorOf = (call: Pick<ToolCall, "caller">, delegationId?: string): EntryActor => {
  const { caller } = call;
  const isService = caller.sub.startsWith("service:");
  return {
    subject: caller.sub,
    kind: caller.agent !== undefined ? "agent" : isService ? "service" : "person",
    amr: caller.amr,
    ...(caller.agent === undefined ? {} : { agent_id: caller.agent }),
    ...(delegationId === undefined ? {} : { delegation_id: delegationId }),
    ...(caller.clientId === undefined ? {} : { client_id: caller.clientId }),
    ...(caller.acr === undefined ? {} : { acr: caller.acr }),
  };
};

/** What every entry of a call says, whatever became of it. */
export const entryOf = (
  call: ToolCall,
  tool: Tool | undefined,
  data: Readonly<Record<string, unknown>>,
  more: { readonly decisionId?: string | undefined; readonly delegationId?: string | undefined } = {},
): Omit<EntryDraft, "outcome"> => ({
  tenant: call.caller.tenant,
  category: "tool_call",
  actor: actorOf(call, more.delegationId),
  via: { service: "crud", view: call.view.name, dialect: call.dialect },
  resource: { type: "tool", id: tool?.name ?? "unknown" },
  ...(more.decisionId === undefined ? {} : { decisionId: more.decisionId }),
  correlationId: call.correlationId,
  data,
});

/** Members of the open entry: digests and counts, never an argument. */
const openData = (call: ToolCall, tool: Tool, given: Arguments, held: Held | undefined): Readonly<Record<string, unknown>> => ({
  tool: tool.name,
  source: tool.source,
  mcp_method: call.method,
  mcp_name: call.name.slice(0, 128),
  view: call.view.name,
  argument_names: given.names.slice(0, 50),
  arguments_digest: given.digest,
  definition_digest: tool.digest,
  reserve: { steps: held?.steps ?? 0, usd: usdText(held?.micro ?? 0n) },
});

/** Commits the open entry; the act's id is the call's. Throws `audit_unavailable`, and then nothing may be sent. */
export const openAudit = (
  call: ToolCall,
  tool: Tool,
  given: Arguments,
  decided: { readonly decisionId: string },
  held: Held | undefined,
  parts: Pick<CorridorParts, "recorder">,
): Promise<OpenAct> =>
  parts.recorder.open(
    entryOf(call, tool, openData(call, tool, given, held), { decisionId: decided.decisionId, delegationId: held?.delegationId }),
    call.callId,
  );
