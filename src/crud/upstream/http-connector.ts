import type { Dispatcher } from "undici";
import { withDoubles } from "#contract/exact-numbers.ts";
import { Problem } from "#contract/problem.ts";
import { microFromUsd } from "#contract/ids.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { Connector, Invocation, UpstreamAnswer } from "#crud/tools/tool.ts";
import { createYieldingOfLong } from "#http/yielding.ts";
import { ABSENT, celInputs } from "#parsing/cel.ts";
import { inputsOf, type Expression, type ExpressionInputs } from "#crud/systems/expression.ts";
import type { BindRequest, BoundRequest } from "#crud/systems/http-request.ts";
import { encode } from "#crud/systems/parameter-styles.ts";
import type { RetryRules } from "#crud/systems/system-limits.ts";
import { contentOf } from "./answer-body.ts";
import { credentialsOf, type CredentialRules } from "./credentials.ts";
import { exchangeHttp, type Exchange, type ExchangeReply } from "./http-exchange.ts";
import { firstPage, nextPage, ownAddress, targetOf, type Paging, type Target } from "./next-page.ts";
import type { Resilience } from "./resilience.ts";

/** One operation of an HTTP system, compiled. */
export interface HttpOperation {
  readonly bind: BindRequest;
  readonly idempotencyHeader?: string;
  readonly paginate?: Paging;
  readonly select?: Expression;
  readonly errors: readonly {
    readonly when: Expression;
    readonly as: "not_found" | "conflict" | "invalid_arguments" | "rate_limited" | "upstream_error";
    readonly isRetryable: boolean;
  }[];
  readonly actualCost?: Expression;
  readonly retry: RetryRules;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly takesBinary: boolean;
  readonly isReadOnly: boolean;
  readonly isIdempotent: boolean;
}

export interface HttpSystem extends CredentialRules {
  readonly baseUrl: URL;
  readonly agent: Dispatcher;
  readonly resilience: Resilience;
  readonly userAgent: string;
  /** Redirects of a GET are followed within the origin of `baseUrl`. */
  readonly followsRedirects: boolean;
  /** In place of the exchange with the upstream. */
  readonly exchange?: (exchange: Exchange, agent?: Dispatcher) => Promise<ExchangeReply>;
}

/** What a request may be redirected by; the method and the body stay, for there is only GET. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 3;
const retryAfterMs = (headers: Readonly<Record<string, string>>): number | undefined => {
  const seconds = Number(headers["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
};

/** What expressions read of an answer. */
const readable = ({ status, headers, body }: ExchangeReply) => ({ status, headers, body });

/** A status that is no success, as the file maps it or as what it is. */
const refusalOf = (operation: HttpOperation, reply: ExchangeReply, inputs: ExpressionInputs): UpstreamError | undefined => {
  const more = { status: reply.status, retryAfterMs: retryAfterMs(reply.headers) };
  const prepared = operation.errors.length === 0 ? undefined : celInputs({ ...inputs, response: readable(reply) });
  const mapped = prepared === undefined ? undefined : operation.errors.find((row) => row.when.evaluate(prepared) === true);
  if (mapped !== undefined) return new UpstreamError(new Problem(mapped.as), "failed", { ...more, isFinal: !mapped.isRetryable });
  if (reply.status >= 200 && reply.status < 300) return undefined;
  // A gateway in front of the upstream gives these answers when it has lost the real one.
  if ((reply.status === 502 || reply.status === 504) && !operation.isReadOnly)
    return new UpstreamError(new Problem("outcome_unknown"), "unknown", more);
  const detail = reply.status < 400 ? "The upstream redirected." : `The upstream answered ${reply.status}.`;
  const isPassing = reply.status >= 500 || [408, 425, 429].includes(reply.status) || operation.retry?.on.includes(reply.status) === true;
  return new UpstreamError(new Problem("upstream_error", { detail }), "failed", { ...more, isFinal: !isPassing });
};

const astray = (detail: string, status: number): UpstreamError =>
  new UpstreamError(new Problem("upstream_error", { detail }), "failed", { status, isFinal: true });

/** Makes the connector of one operation: bind, authenticate, exchange (pages), select. */
export const createHttpConnector = (system: HttpSystem, operation: HttpOperation): Connector => {
  const base = system.baseUrl.pathname.replace(/\/$/, "");
  const exchange = system.exchange ?? ((one: Exchange, agent = system.agent) => exchangeHttp(agent, one));
  // An idempotency header makes any method safe to repeat: the upstream sees the same key.
  const isRepeatable = operation.isReadOnly || operation.isIdempotent || operation.idempotencyHeader !== undefined;

  /** An answer, and the address that gave it. */
  type Located = ExchangeReply & { readonly from: URL };
  /** What stays of an answer while another is waited for: its bytes were given back. */
  const headOf = ({ status, headers, from }: Located): Located => ({ status, headers, from, body: null });

  const send = async (call: Invocation, inputs: ExpressionInputs, bound: BoundRequest, target: Target): Promise<Located> => {
    let credentials = await credentialsOf(system, call);
    const keyed = operation.isReadOnly || call.idempotencyKey === undefined ? undefined : "idempotency-key";
    const keyHeader = operation.idempotencyHeader ?? keyed;
    const askAt = async (path: string, query: Target["query"], timeoutMs: number, signal: AbortSignal): Promise<Located> => {
      const own = credentials.query.map(([name, value]) => [encode(name), encode(value)] as const);
      const others = query.filter(([name]) => !own.some(([taken]) => taken === name));
      const text = [...others, ...own].map((pair) => pair.join("=")).join("&");
      const whole = `${path}${text === "" ? "" : `?${text}`}`;
      const sent: Exchange = {
        origin: system.baseUrl.origin,
        path: whole,
        method: bound.method,
        headers: {
          ...bound.headers,
          accept: operation.takesBinary ? "*/*" : "application/json",
          "user-agent": system.userAgent,
          "x-correlation-id": call.correlationId,
          ...(bound.body === undefined ? {} : { "content-type": bound.body.type }),
          ...(keyHeader === undefined ? {} : { [keyHeader]: call.idempotencyKey ?? call.callId }),
          ...credentials.headers,
        },
        ...(bound.body === undefined ? {} : { body: bound.body.content }),
        timeoutMs,
        maxBytes: operation.maxBytes,
        claim: call.claim,
        takesBinary: operation.takesBinary,
        isReadOnly: operation.isReadOnly,
        signal,
      };
      const reply = await exchange(sent, credentials.agent);
      // A path may begin with two slashes, which beside a base would be read as a host.
      return { ...reply, from: new URL(`${system.baseUrl.origin}${whole}`) };
    };
    /** One try, with the redirects that belong to it. */
    const ask = async (signal: AbortSignal): Promise<Located> => {
      const until = performance.now() + operation.timeoutMs;
      let reply = await askAt(`${base}${target.path}`, target.query, operation.timeoutMs, signal);
      for (let hop = 0; system.followsRedirects && bound.method === "GET" && REDIRECTS.has(reply.status); hop++) {
        if (hop === MAX_REDIRECTS) throw astray(`The upstream redirected more than ${MAX_REDIRECTS} times.`, reply.status);
        const { location } = reply.headers;
        if (location === undefined) break;
        const next = ownAddress(location, reply.from);
        if (next === undefined) throw astray("The upstream redirected to another origin.", reply.status);
        const { path, query } = targetOf(next, "");
        reply = headOf(reply);
        reply = await askAt(path, query, Math.max(1, Math.ceil(until - performance.now())), signal);
      }
      return reply;
    };
    let mayRenew = credentials.drop !== undefined;
    return system.resilience({
      tenant: call.caller.tenant,
      principal: call.caller.sub,
      retry: isRepeatable ? operation.retry : undefined,
      signal: call.signal,
      attempt: async (signal) => {
        let reply = await ask(signal);
        // A token may be withdrawn before its time: whoever was not let in did nothing, and may come once more with another.
        if (reply.status === 401 && mayRenew) {
          mayRenew = false;
          credentials.drop?.();
          reply = headOf(reply);
          credentials = await credentialsOf(system, call);
          reply = await ask(signal);
        }
        const turn = createYieldingOfLong();
        const refused = refusalOf(operation, reply, inputs);
        if (refused !== undefined) throw refused;
        // The rows of its issues have read all of it, and what is selected of it does so again.
        await turn();
        return reply;
      },
    });
  };

  /** Reads the answer; what goes wrong here goes wrong after the upstream did its work. */
  const afterwards = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof Problem ? new UpstreamError(error, "done") : error;
    }
  };

  const finish = async (
    callId: string,
    inputs: ExpressionInputs,
    reply: ExchangeReply,
    items: readonly unknown[] | undefined,
    isCut: boolean,
  ): Promise<UpstreamAnswer> => {
    const turn = createYieldingOfLong();
    // Pages are counted by it too: all their items together are no more than an expression may read.
    const isRead = operation.select !== undefined || operation.actualCost !== undefined || items !== undefined;
    const read = { ...inputs, response: readable(reply), ...(items === undefined ? {} : { items }) };
    const prepared = celInputs(isRead ? read : {});
    await turn();
    const selected = operation.select?.evaluate(prepared) ?? (items === undefined ? reply.body : { items });
    if (selected === ABSENT) throw new Problem("output_invalid", { detail: "The answer lacks what is selected of it." });
    const cost = withDoubles(operation.actualCost?.evaluate(prepared));
    return {
      value: selected,
      status: reply.status,
      isCut,
      ...(reply.binary === undefined ? {} : { media: [contentOf(reply.binary, callId)] }),
      ...(typeof cost === "number" && cost >= 0 ? { costMicro: microFromUsd(Math.round(cost * 1e6) / 1e6) } : {}),
    };
  };

  return async (call) => {
    const inputs = inputsOf(call);
    const bound = operation.bind(celInputs(inputs), call.arguments);
    const pages = operation.paginate;
    if (pages === undefined) {
      const reply = await send(call, inputs, bound, bound);
      return afterwards(() => finish(call.callId, inputs, reply, undefined, false));
    }
    const first = firstPage(pages, bound);
    const items: unknown[] = [];
    let target = first;
    for (let page = 1; ; page++) {
      const reply = await send(call, inputs, bound, target);
      const { upstream, next } = await afterwards(async () => {
        const turn = createYieldingOfLong();
        const prepared = celInputs({ ...inputs, response: readable(reply) });
        await turn();
        const found = pages.items.evaluate(prepared);
        if (!Array.isArray(found)) throw new Problem("output_invalid", { detail: "The answer's items are no list." });
        for (const item of found as unknown[]) items.push(item);
        const read = { prepared, link: reply.headers["link"], items: found.length, itemsSoFar: items.length, page, from: reply.from };
        const next = nextPage(pages, read, first, base);
        await turn();
        return { upstream: await finish(call.callId, inputs, reply, items, next !== undefined), next };
      });
      if (next === undefined || page >= pages.maxPages || call.isEnough?.(upstream.value) === true) return upstream;
      target = next;
    }
  };
};
