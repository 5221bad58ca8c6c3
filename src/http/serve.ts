import { Hono } from "hono";
import type { z } from "zod";
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ReplyOf } from "#contract/endpoint.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import type { Log } from "#telemetry/log.ts";
import { noTracing, type Tracing } from "#telemetry/tracing.ts";
import { correlationIdOf } from "./correlation-id.ts";
import { asProblem, problemResponse } from "./problem-body.ts";
import { readBytes } from "./read-bytes.ts";
import { parseStrictJson } from "./strict-json.ts";
import { TextResponse } from "./text-response.ts";

type AnyEndpoint = Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>;

export interface Call<E, C> {
  readonly params: ParamsOf<E>;
  readonly query: QueryOf<E>;
  readonly body: BodyOf<E>;
  /** Who asks; `undefined` only on endpoints with auth `none`. */
  readonly caller: C;
  readonly request: Request;
  readonly correlationId: string;
}

/** A reply with a status or headers of its own. Made with `answer()`. */
export class Answer<R> {
  readonly value: R;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  constructor(value: R, status: number | undefined, headers: Readonly<Record<string, string>>) {
    this.value = value;
    this.status = status;
    this.headers = headers;
  }
}
export const answer = <R>(
  value: R,
  more: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Answer<R> => new Answer(value, more.status, more.headers ?? {});

export type Handler<E, C> = (call: Call<E, C>) => Promise<ReplyOf<E> | Answer<ReplyOf<E>> | Response>;

export interface RouterOptions<C> {
  readonly name: string;
  /** Makes a caller of the request's credential or throws `unauthenticated`, `invalid_token`, `insufficient_scope`. */
  readonly authenticate: (request: Request, endpoint: AnyEndpoint) => Promise<C>;
  readonly log: Log;
  /** Also check replies against their schema (dev and test). */
  readonly validateReplies: boolean;
  /** Bytes of a body; default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** AuthZEN's standard wants 400 where the rest of the house says 422. */
  readonly badInputStatus?: 400 | 422;
  /** A service's own reading of the query, with its own codes; given instead of form decoding (where `+` is a space). */
  readonly readQuery?: (url: URL, endpoint: AnyEndpoint) => Readonly<Record<string, string>>;
  /** A service's own reading of a JSON body, with its own codes and limits. */
  readonly parseJson?: (bytes: Uint8Array) => unknown;
  /** Each request that was let in is a span; none unless given. */
  readonly tracing?: Tracing;
  /** Called once for each answer, e.g. to count it. */
  readonly observe?: (seen: {
    readonly endpoint: AnyEndpoint | undefined;
    readonly method: string;
    readonly status: number;
    readonly seconds: number;
  }) => void;
}

export interface Router<C> {
  serve<E extends AnyEndpoint>(endpoint: E, handler: Handler<E, C>): void;
  /** For protocols that are no contract endpoint (standard MCP): the handler gets the request as it is. */
  raw(
    method: "GET" | "POST" | "DELETE",
    path: string,
    handler: (request: Request, params: Readonly<Record<string, string>>) => Promise<Response>,
  ): void;
  fetch(request: Request): Promise<Response>;
  readonly served: readonly AnyEndpoint[];
}

const faultsOf = (error: z.ZodError, prefix: string): Fault[] =>
  error.issues.flatMap((issue) => {
    const at = prefix === "" ? `/${issue.path.map(String).join("/")}` : `${prefix}.${issue.path.map(String).join(".")}`;
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        path: prefix === "" ? `${at === "/" ? "" : at}/${key}` : `${prefix}.${key}`,
        message: "is not known here",
        code: "unknown",
      }));
    }
    return [{ path: at, message: issue.message }];
  });

const readQuery = (url: URL): Record<string, string> => {
  const seen: Record<string, string> = {};
  const faults: Fault[] = [];
  for (const [name, value] of url.searchParams) {
    if (Object.hasOwn(seen, name)) faults.push({ path: `query.${name}`, message: "is given twice" });
    seen[name] = value;
  }
  if (faults.length > 0) throw new Problem("ambiguous_query", { errors: faults });
  return seen;
};

const isJson = (contentType: string | null): boolean => /^application\/json *(?:; *charset="?utf-8"?)? *$/i.test(contentType ?? "");

/**
 * Routes contract endpoints to handlers: authenticate, validate in, handle, validate out, translate problems once.
 * Order matters: who asks is settled before what they sent is looked at, so a stranger learns nothing from faults.
 */
export const createRouter = <C>(options: RouterOptions<C>): Router<C> => {
  const app = new Hono();
  const served: AnyEndpoint[] = [];
  const maxBodyBytes = options.maxBodyBytes ?? 1_048_576;
  const invalid = options.badInputStatus === 400 ? "invalid_request" : "invalid_body";
  const unknownParameter = options.badInputStatus === 400 ? "invalid_query" : "unknown_parameter";
  const parseJson = options.parseJson ?? ((bytes: Uint8Array) => parseStrictJson(bytes));

  const readBody = async (endpoint: AnyEndpoint, request: Request): Promise<unknown> => {
    if (endpoint.body === undefined || endpoint.ownBody === true) return undefined;
    const bytes = await readBytes(request, maxBodyBytes);
    if (bytes.byteLength > 0 && !isJson(request.headers.get("content-type")))
      throw options.badInputStatus === 400
        ? new Problem("invalid_request", { errors: [{ path: "header.content-type", message: "must be application/json" }] })
        : new Problem("unsupported_media_type", { detail: "Send application/json." });
    const read = endpoint.body.safeParse(bytes.byteLength === 0 ? undefined : parseJson(bytes));
    if (read.success) return read.data;
    const faults = faultsOf(read.error, "");
    const onlyUnknown = faults.every((fault) => fault.code === "unknown");
    throw new Problem(onlyUnknown && invalid === "invalid_body" ? "unknown_member" : invalid, { errors: faults });
  };

  const readParameters = (
    endpoint: AnyEndpoint,
    request: Request,
    captured: Record<string, string>,
  ): { params: unknown; query: unknown } => {
    const params = endpoint.params?.safeParse(captured);
    if (params !== undefined && !params.success) throw new Problem("not_found");
    const url = new URL(request.url);
    const given = options.readQuery === undefined ? readQuery(url) : options.readQuery(url, endpoint);
    if (endpoint.query === undefined) {
      const faults = Object.keys(given).map((name) => ({ path: `query.${name}`, message: "is not known here", code: "unknown" }));
      if (faults.length > 0) throw new Problem(unknownParameter, { errors: faults });
      return { params: params?.data, query: undefined };
    }
    const query = endpoint.query.safeParse(given);
    if (query.success) return { params: params?.data, query: query.data };
    const faults = faultsOf(query.error, "query");
    if (faults.some((fault) => fault.code === "unknown")) throw new Problem(unknownParameter, { errors: faults });
    throw new Problem(invalid === "invalid_request" ? "invalid_query" : "unprocessable", { errors: faults });
  };

  const respond = (endpoint: AnyEndpoint, result: unknown, correlationId: string): Response => {
    if (result instanceof Response) {
      if (!result.headers.has("x-correlation-id")) result.headers.set("x-correlation-id", correlationId);
      return result;
    }
    const given = result instanceof Answer ? result : new Answer(result, undefined, {});
    if (options.validateReplies) endpoint.reply.parse(given.value);
    const status = given.status ?? endpoint.status ?? 200;
    const headers: Record<string, string> = {
      "cache-control": "no-store",
      "x-correlation-id": correlationId,
      "x-content-type-options": "nosniff",
      ...given.headers,
    };
    if (status === 204 || status === 304) return new Response(null, { status, headers });
    headers["content-type"] = "application/json";
    return new TextResponse(JSON.stringify(given.value), { status, headers });
  };

  const fail = (error: unknown, correlationId: string): Response => {
    const problem = asProblem(error);
    if (problem.status >= 500)
      options.log.error("http_rejected", { correlation_id: correlationId, code: problem.code, cause: problem.options.cause });
    return problemResponse(problem, correlationId);
  };

  const tracing = options.tracing ?? noTracing;

  const serve = <E extends AnyEndpoint>(endpoint: E, handler: Handler<E, C>): void => {
    served.push(endpoint);
    app.on(endpoint.method, endpoint.path.replace(/\{([^}]+)\}/g, ":$1"), async (context) => {
      const started = performance.now();
      const request = context.req.raw;
      const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
      let response: Response;
      try {
        const caller = await options.authenticate(request, endpoint);
        const spanOptions = {
          kind: "server",
          parent: isOfTheHouse(caller) ? (request.headers.get("traceparent") ?? undefined) : undefined,
          facts: { "http.request.method": endpoint.method, "http.route": endpoint.path },
        } as const;
        response = await tracing.span(`${endpoint.method} ${endpoint.path}`, spanOptions, async (span) => {
          const { params, query } = readParameters(endpoint, request, context.req.param() as Record<string, string>);
          const body = await readBody(endpoint, request);
          const result = await handler({ params, query, body, caller, request, correlationId } as Call<E, C>);
          const answered = respond(endpoint, result, correlationId);
          span.set({ "http.response.status_code": answered.status });
          return answered;
        });
      } catch (error) {
        response = fail(error, correlationId);
      }
      options.observe?.({ endpoint, method: endpoint.method, status: response.status, seconds: (performance.now() - started) / 1000 });
      return response;
    });
  };

  const raw: Router<C>["raw"] = (method, path, handler) => {
    app.on(method, path.replace(/\{([^}]+)\}/g, ":$1"), async (context) => {
      const correlationId = correlationIdOf(context.req.raw.headers.get("x-correlation-id"));
      try {
        return await handler(context.req.raw, context.req.param() as Record<string, string>);
      } catch (error) {
        return fail(error, correlationId);
      }
    });
  };

  app.notFound((context) => {
    const correlationId = correlationIdOf(context.req.raw.headers.get("x-correlation-id"));
    const path = new URL(context.req.url).pathname;
    const allowed = served.filter((endpoint) => matches(endpoint.path, path)).map((endpoint) => endpoint.method);
    if (allowed.length > 0)
      return problemResponse(new Problem("method_not_allowed", { headers: { allow: allowed.join(", ") } }), correlationId);
    return problemResponse(new Problem("not_found"), correlationId);
  });

  return { serve, raw, fetch: async (request) => app.fetch(request), served };
};

/** Another service of the house asks: it says what trace this belongs to. A stranger's word on that does not count. */
const isOfTheHouse = (caller: unknown): boolean => {
  if (typeof caller !== "object" || caller === null) return false;
  const { isHouseService, isHouseCall } = caller as { readonly isHouseService?: unknown; readonly isHouseCall?: unknown };
  return isHouseService === true || isHouseCall === true;
};

const matches = (pattern: string, path: string): boolean => {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith("{") || part === given[index]);
};
