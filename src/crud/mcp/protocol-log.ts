import { Problem } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Dialect } from "#crud/tools/tool-call.ts";
import { isRefusal } from "./rpc-error.ts";

export interface Protocol {
  readonly caller: Caller;
  readonly correlationId: string;
  readonly view: string;
  readonly dialect: Dialect;
}

export interface Watch {
  /** A person's name in logs, which says nothing to whoever has not their key; none where the database is away. */
  readonly subjectRef: (caller: Pick<Caller, "sub" | "tenant">) => Promise<string | undefined>;
  readonly log: Log;
  readonly metrics: Metrics;
}

const baseOf = async (protocol: Protocol, watch: Watch): Promise<Readonly<Record<string, unknown>>> => ({
  correlation_id: protocol.correlationId,
  subject_ref: await watch.subjectRef(protocol.caller),
  agent: protocol.caller.agent,
  tenant: protocol.caller.tenant,
  view: protocol.view,
  dialect: protocol.dialect,
});

export const sinceMs = (started: number): number => Math.round(performance.now() - started);

/** A list: one start, and one complete if it succeeds. */
export const watchList = async <T extends { readonly tools: readonly unknown[] }>(
  protocol: Protocol,
  limit: number | undefined,
  watch: Watch,
  work: () => Promise<T>,
): Promise<T> => {
  const started = performance.now();
  const base = await baseOf(protocol, watch);
  watch.log.info("mcp_tools_list_start", { ...base, limit });
  const listed = await work();
  watch.metrics.observe("mcp_list_duration_seconds", { dialect: protocol.dialect, cached: "false" }, (performance.now() - started) / 1000);
  watch.log.info("mcp_tools_list_complete", {
    ...base,
    count: listed.tools.length,
    cached: false,
    duration_ms: sinceMs(started),
  });
  return listed;
};

/** One JSON-RPC message: `mcp_jsonrpc_call`, then exactly one of complete, error, forbidden. */
export const watchRpc = async <T>(
  protocol: Protocol,
  method: string,
  tool: string | undefined,
  watch: Watch,
  work: () => Promise<T>,
): Promise<T> => {
  const started = performance.now();
  const fields = {
    ...(await baseOf(protocol, watch)),
    method: method.slice(0, 64),
    ...(tool === undefined ? {} : { tool: tool.slice(0, 128) }),
  };
  watch.log.info("mcp_jsonrpc_call", fields);
  try {
    const result = await work();
    watch.log.info("mcp_jsonrpc_complete", { ...fields, outcome: "ok", duration_ms: sinceMs(started) });
    return result;
  } catch (error) {
    const problem = asProblem(error);
    const ended = { ...fields, data_code: problem.code, duration_ms: sinceMs(started) };
    if (isRefusal(problem)) watch.log.warn("mcp_jsonrpc_forbidden", { ...ended, decision_id: problem.options.members?.["decision_id"] });
    else
      watch.log.warn("mcp_jsonrpc_error", {
        ...ended,
        code: problem.rpcCode,
        ...(problem.status >= 500 ? { cause: causeOf(problem) } : {}),
      });
    throw error;
  }
};

/** The innermost issue: what a person must look at. */
const causeOf = (problem: Problem): unknown => {
  let cause = problem.options.cause;
  while (cause instanceof Problem && cause.options.cause !== undefined) cause = cause.options.cause;
  return cause;
};
