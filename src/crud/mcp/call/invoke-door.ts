import { Problem } from "#contract/problem.ts";
import { prepare } from "#crud/systems/expression.ts";
import { valueAt } from "#crud/mcp/json-pointer.ts";
import type { Invocation, Tool, Upstream } from "#crud/mcp/tool.ts";
import type { Arguments } from "./arguments-door.ts";
import type { CorridorParts } from "./corridor-parts.ts";
import { createRedact, type Redact } from "./redact.ts";
import type { RowScope } from "./row-scope.ts";
import { createSecretReader, type SecretReader } from "./secret-reader.ts";
import { countKept } from "./shape-door.ts";
import type { ToolCall } from "./tool-call.ts";
import { UpstreamFault } from "./upstream-fault.ts";

export interface Invoked {
  readonly upstream: Upstream;
  readonly secrets: SecretReader;
}

type InvokeParts = Pick<CorridorParts, "secrets" | "secretsAudience" | "identity" | "callTimeoutMs" | "stopping" | "now">;

export interface InvokeInput {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly arguments: Arguments;
  readonly decisionId: string;
  readonly delegationId: string | undefined;
  readonly scope: RowScope | undefined;
}

/** The read that guards a write must show a row that the caller may see; else the write never starts. */
const passGuard = async (input: InvokeInput, invocation: Invocation): Promise<void> => {
  const guard = input.tool.rules.rows?.guard;
  const keeps = input.scope?.guardKeeps;
  if (guard === undefined) return;
  const read = guard.tool();
  const { caller } = input.call;
  const prepared = prepare({
    input: input.arguments.value,
    caller: { sub: caller.sub, tenant: caller.tenant, ...(caller.agent === undefined ? {} : { agent: caller.agent }) },
    now: invocation.now,
  });
  const found = await read.connector({ ...invocation, arguments: guard.input(prepared) as Readonly<Record<string, unknown>> });
  const rows = valueAt(found.value, read.rules.rows?.rows ?? []);
  const candidates = Array.isArray(rows) ? (rows as unknown[]) : [rows];
  if (keeps === undefined || !candidates.some(keeps)) throw new UpstreamFault(new Problem("not_found"), "failed", { isFinal: true });
};

const asFault = (error: unknown, tool: Tool): UpstreamFault => {
  if (error instanceof UpstreamFault) return error;
  // Refused while the request was made of the arguments.
  if (error instanceof Problem) return new UpstreamFault(error, "not_sent");
  return tool.rules.isReadOnly
    ? new UpstreamFault(new Problem("upstream_error", { cause: error }), "failed")
    : new UpstreamFault(new Problem("outcome_unknown", { cause: error }), "unknown");
};

const redactFault = (fault: UpstreamFault, redact: Redact): UpstreamFault => {
  const { cause, ...shown } = fault.problem.options;
  const problem = new Problem(fault.problem.code, { ...redact(shown), cause });
  return new UpstreamFault(problem, fault.effect, {
    retryAfterMs: fault.retryAfterMs,
    isFinal: fault.isFinal,
    ...(fault.status === undefined ? {} : { status: fault.status }),
  });
};

/** Calls the upstream within the deadline. Credentials that come back in any spelling leave as `[redacted]`. Throws `UpstreamFault`. */
export const invokeUpstream = async (input: InvokeInput, parts: InvokeParts): Promise<Invoked> => {
  const { call, tool } = input;
  const secrets = createSecretReader(
    {
      callId: call.callId,
      correlationId: call.correlationId,
      toolName: tool.name,
      decisionId: input.decisionId,
      delegationId: input.delegationId,
    },
    parts,
  );
  const wanted = tool.rules.wantedRows === undefined ? undefined : input.arguments.value[tool.rules.wantedRows];
  const invocation: Invocation = {
    callId: call.callId,
    correlationId: call.correlationId,
    caller: call.caller,
    ...(input.delegationId === undefined ? {} : { delegationId: input.delegationId }),
    decisionId: input.decisionId,
    toolName: tool.name,
    arguments: input.arguments.value,
    signal: AbortSignal.any([call.signal, parts.stopping, AbortSignal.timeout(parts.callTimeoutMs)]),
    secret: (uri) => secrets.read(uri),
    ...(typeof wanted === "number" ? { isEnough: (value: unknown) => countKept(value, tool, input.scope) >= wanted } : {}),
    now: parts.now(),
  };
  try {
    await passGuard(input, invocation);
    const upstream = await tool.connector(invocation);
    const redact = createRedact(secrets.values());
    return {
      upstream: { ...upstream, value: redact(upstream.value), ...(upstream.media === undefined ? {} : { media: redact(upstream.media) }) },
      secrets,
    };
  } catch (error) {
    throw redactFault(asFault(error, tool), createRedact(secrets.values()));
  }
};
