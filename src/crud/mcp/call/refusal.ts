import { reasons } from "#contract/authzen.ts";
import type { Problem } from "#contract/problem.ts";
import type { AuditOutcome } from "#contract/events.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import { entryOf } from "./open-door.ts";
import type { ToolCall } from "./tool-call.ts";

const denials: ReadonlySet<string> = new Set([...reasons, "access_denied", "denied"]);

/** A decision said no, or something else stood in the way. */
export const refusalOutcome = (problem: Problem): AuditOutcome => (denials.has(problem.code) ? "denied" : "refused");

/** The one entry of a call that never started. If it cannot be written the refusal stands all the same. */
export const recordRefusal = async (
  call: ToolCall,
  tool: Tool,
  problem: Problem,
  argumentsDigest: string | undefined,
  parts: Pick<CorridorParts, "recorder" | "log">,
): Promise<void> => {
  const decisionId = problem.options.members?.["decision_id"];
  try {
    await parts.recorder.one({
      ...entryOf(
        call,
        tool,
        {
          tool: tool.name,
          source: tool.source,
          mcp_method: call.method,
          mcp_name: call.name.slice(0, 128),
          view: call.view.name,
          definition_digest: tool.digest,
          ...(argumentsDigest === undefined ? {} : { arguments_digest: argumentsDigest }),
        },
        { decisionId: typeof decisionId === "string" ? decisionId : undefined },
      ),
      outcome: refusalOutcome(problem),
      code: problem.code,
      actId: call.callId,
    });
  } catch (cause) {
    parts.log.error("tool_refusal_not_recorded", { call_id: call.callId, code: problem.code, correlation_id: call.correlationId, cause });
  }
};
