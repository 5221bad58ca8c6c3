import { usdFromMicro } from "#contract/ids.ts";
import { isObject } from "#contract/is-object.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { execute, type ExecuteAsk } from "#contract/tools.ts";
import type { Caller } from "#authn/model/caller.ts";
import { asProblem } from "#http/problem-body.ts";
import type { Router } from "#http/serve.ts";
import { FailedCall } from "#crud/model/upstream-error.ts";
import { watchRpc, type Watch } from "./protocol-log.ts";
import { contractStatus, messageOf } from "./rpc-error.ts";
import type { ToolService } from "./tool-service.ts";

const callOf = (asked: ExecuteAsk): { readonly name: string; readonly arguments: unknown } => {
  if ("tool" in asked) return { name: asked.tool, arguments: asked.arguments };
  const base = asked.object_type === undefined ? asked.action : `${asked.object_type}_${asked.action}`;
  return { name: `${asked.system}.${base}`, arguments: asked.params };
};

/** A refusal as both dialects know it: what is too much of the caller's is a limit, not an instance that is away. */
const refusalOf = (error: unknown): unknown => {
  const problem = asProblem(error);
  return contractStatus(problem) === 429 ? new Problem(problem.code, { ...problem.options, status: 429 }) : error;
};

/** What is said of an answer besides. */
const marksOf = ({ isAuditPending, isReplay = false }: { readonly isAuditPending: boolean; readonly isReplay?: boolean }) => ({
  ...(isAuditPending ? { audit: "pending" as const } : {}),
  ...(isReplay ? { replayed: true as const } : {}),
});

type ExecuteContext = Watch & { readonly toolService: ToolService };
interface ExecutedCall extends Pick<Parameters<ToolService["call"]>[1], "name" | "arguments" | "concealed" | "idempotencyKey" | "signal"> {
  readonly caller: Caller;
  readonly correlationId: string;
}

/** One call as one request: through the same pipeline as both dialects, in the view of all tools. A failure of the upstream is an answer. */
export const executeCall = async (
  { toolService, ...watch }: ExecuteContext,
  { caller, correlationId, ...call }: ExecutedCall,
): Promise<ReplyOf<typeof execute>> => {
  const started = performance.now();
  const visit = toolService.enter(caller, "", "execute", correlationId);
  const since = (): number => Math.round(performance.now() - started);
  try {
    const done = await watchRpc({ ...visit, view: "" }, "execute", call.name, watch, () =>
      toolService.call(visit, { method: "execute", ...call }),
    );
    const shown = isObject(done.value) ? done.value : {};
    const next = shown["next_cursor"] ?? shown["nextCursor"];
    return {
      success: true,
      data: done.value,
      call_id: done.callId,
      decision_id: done.decisionId,
      cost_usd: usdFromMicro(done.costMicro),
      duration_ms: since(),
      truncated: shown["truncated"] === true,
      ...marksOf(done),
      ...(typeof next === "string" ? { next_cursor: next } : {}),
    };
  } catch (error) {
    if (!(error instanceof FailedCall) || error.fails !== "upstream") throw refusalOf(error);
    const { call_id, decision_id } = error.options.members ?? {};
    return {
      success: false,
      error: {
        code: error.code,
        message: messageOf(error),
        ...(error.upstreamStatus === undefined ? {} : { status: error.upstreamStatus }),
        retryable: error.isRetryable,
      },
      call_id: String(call_id),
      decision_id: String(decision_id),
      cost_usd: usdFromMicro(error.costMicro),
      duration_ms: since(),
      truncated: false,
      ...marksOf(error),
    };
  }
};

/** For programs that speak no JSON-RPC. */
export const serveExecute = (router: Router<Caller>, parts: ExecuteContext): void => {
  router.serve(execute, async ({ caller, body, request, correlationId }) =>
    executeCall(parts, {
      caller,
      correlationId,
      ...callOf(body),
      idempotencyKey: request.headers.get("idempotency-key") ?? undefined,
      signal: request.signal,
    }),
  );
};
