import { Problem } from "#contract/problem.ts";
import { celInputs } from "#parsing/cel.ts";
import { createYieldingOfLong, yielding } from "#http/yielding.ts";
import { inputsOf } from "#crud/systems/expression.ts";
import { valueAt } from "#crud/model/value-at.ts";
import type { Invocation, Tool, UpstreamAnswer } from "#crud/tools/tool.ts";
import type { AuthorizedCall } from "./check-chain.ts";
import { createRedact, type Redact } from "#crud/tools/redact.ts";
import { createSecretReader } from "#crud/mcp/call/steps/secret-reader.ts";
import type { Claim } from "#http/shares.ts";
import type { ReservedCall } from "./reserve-budget.ts";
import { countKept } from "./filter-output.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";
import { absentRow, UpstreamError } from "#crud/model/upstream-error.ts";

export interface Invoked {
  readonly upstream: UpstreamAnswer;
  readonly secrets: NonNullable<UpstreamError["secrets"]>;
}

type InvokeParts = Pick<CallParts, "secrets" | "secretsAudience" | "identity" | "callTimeoutMs" | "stopping" | "now">;

/** The read that guards a write must show a row that the caller may see; else the write never starts. */
const passGuard = async ({ tool, scope }: AuthorizedCall, invocation: Invocation): Promise<void> => {
  const guard = tool.rules.rows?.guard;
  if (guard === undefined) return;
  const keeps = scope?.guardKeeps;
  const read = guard.tool();
  const prepared = celInputs(inputsOf(invocation));
  const found = await read.connector({ ...invocation, arguments: guard.input(prepared) as Readonly<Record<string, unknown>> });
  const rows = valueAt(found.value, read.rules.rows?.rows ?? []);
  const candidates = Array.isArray(rows) ? (rows as unknown[]) : [rows];
  if (keeps === undefined || !candidates.some(keeps)) throw absentRow();
  invocation.claim.shrinkTo(0);
};

/** The upstream's own word for it, whether or not the system's file has one. */
const saysAbsent = ({ effect, status, problem }: UpstreamError): boolean =>
  effect === "failed" && (status === 404 || status === 410 || problem.code === "not_found");

const asError = (error: unknown, tool: Tool): UpstreamError => {
  if (error instanceof UpstreamError) return tool.rules.rows !== undefined && saysAbsent(error) ? absentRow() : error;
  // Refused while the request was made of the arguments.
  if (error instanceof Problem) return new UpstreamError(error, "not_sent");
  return tool.rules.isReadOnly
    ? new UpstreamError(new Problem("upstream_error", { cause: error }), "failed")
    : new UpstreamError(new Problem("outcome_unknown", { cause: error }), "unknown");
};

const redactError = async (failure: UpstreamError, redact: Redact, used: UpstreamError["secrets"]): Promise<UpstreamError> => {
  const { cause, ...shown } = failure.problem.options;
  const problem = new Problem(failure.problem.code, { ...(await yielding(redact(shown), createYieldingOfLong())), cause });
  return new UpstreamError(problem, failure.effect, {
    retryAfterMs: failure.retryAfterMs,
    isFinal: failure.isFinal,
    secrets: used,
    status: failure.status,
  });
};

/** Calls the upstream within the deadline. Credentials that come back in any spelling leave as `[redacted]`. Throws `UpstreamError`. */
export const invokeUpstream = async (opened: ReservedCall, claim: Claim, parts: InvokeParts): Promise<Invoked> => {
  const { call, tool, given, scope, permit, held } = opened;
  const signal = AbortSignal.any([call.signal, parts.stopping, AbortSignal.timeout(parts.callTimeoutMs)]);
  const secrets = createSecretReader(opened, held, { ...parts, signal });
  const wanted = tool.rules.wantedRows === undefined ? undefined : given.value[tool.rules.wantedRows];
  const invocation: Invocation = {
    callId: call.callId,
    correlationId: call.correlationId,
    caller: call.caller,
    delegationId: held?.delegationId,
    decisionId: permit.decisionId,
    toolName: tool.name,
    viewName: call.view.name,
    arguments: given.value,
    idempotencyKey: call.step?.key ?? (tool.source === "workflow" ? call.idempotencyKey : undefined),
    isStart: call.isStart,
    signal,
    claim,
    secret: secrets.read,
    conceal: secrets.conceal,
    isEnough: typeof wanted === "number" ? (value: unknown) => countKept(value, tool, scope) >= wanted : undefined,
    now: parts.now(),
  };
  try {
    await passGuard(opened, invocation);
    const upstream = await tool.connector(invocation);
    const redact = createRedact(secrets.values());
    const turn = createYieldingOfLong();
    const [value, media] = [await yielding(redact(upstream.value), turn), await yielding(redact(upstream.media), turn)];
    return { upstream: { ...upstream, value, media }, secrets: secrets.used() };
  } catch (error) {
    throw await redactError(asError(error, tool), createRedact(secrets.values()), secrets.used());
  }
};
