import { Hono } from "hono";
import type { z } from "zod";
import type { BodyOf, Endpoint, ParamsOf, QueryOf, ReplyOf } from "#contract/endpoint.ts";
import { inputCodes, problemsOf } from "#contract/endpoint-problems.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { issuesOf, queryIssuesOf } from "#contract/shape-issues.ts";
import type { Log } from "#telemetry/log.ts";
import { noTracing, type Tracing } from "#telemetry/tracing.ts";
import { createBodyShares, withShare, type BodyShare } from "./body-shares.ts";
import { correlationIdOf } from "./correlation-id.ts";
import { asProblem, logLevelOf, problemResponse } from "./problem-body.ts";
import { readBytes } from "./read-bytes.ts";
import { readStrictJson } from "./strict-json.ts";
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
  /** The value as JSON, where it was made already. */
  readonly text: string | undefined;
  constructor(value: R, status: number | undefined, headers: Readonly<Record<string, string>>, text?: string) {
    this.value = value;
    this.status = status;
    this.headers = headers;
    this.text = text;
  }
}
export const answer = <R>(
  value: R,
  more: { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly text?: string } = {},
): Answer<R> => new Answer(value, more.status, more.headers ?? {}, more.text);

export type Handler<E, C> = (call: Call<E, C>) => Promise<ReplyOf<E> | Answer<ReplyOf<E>> | Response>;

export interface RouterOptions<C> {
  readonly name: string;
  /** Makes a caller of the request's credential or throws `unauthenticated`, `invalid_token`, `insufficient_scope`. */
  readonly authenticate: (request: Request, endpoint: AnyEndpoint) => Promise<C>;
  readonly log: Log;
  /** Also check replies against their schema, and refusals against the codes that the endpoint may answer (dev and test). */
  readonly validateReplies: boolean;
  /** Bytes of a body; default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** A service's own reading of the query, with its own codes; given instead of form decoding (where `+` is a space). */
  readonly readQuery?: (url: URL, endpoint: AnyEndpoint) => Readonly<Record<string, string>>;
  /** A service's own reading of a JSON body, with its own codes and limits; `members` as the endpoint allows. */
  readonly parseJson?: (bytes: Uint8Array, members: number | undefined) => unknown;
  /** Whose share a large body counts to; `undefined`: a service of Sallyport, which has none. */
  readonly shareOf: (caller: C) => string | undefined;
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
  /** A place for this request's large body, for a raw handler once it knows who asks; to be disposed of when it is answered. */
  shareOf(request: Request, caller: C): BodyShare | undefined;
  readonly served: readonly AnyEndpoint[];
}

/** Parameters of a query as a form has them, each at most once or a list. Throws the service's code of a repeated one. */
const readQuery = (url: URL, { service, repeated = [] }: Pick<Endpoint, "service" | "repeated">): Record<string, string | string[]> => {
  // Without a prototype, or a parameter __proto__ would be none.
  const seen = Object.create(null) as Record<string, string | string[]>;
  const issues: Issue[] = [];
  for (const [name, value] of url.searchParams) {
    if (repeated.includes(name)) {
      seen[name] ??= url.searchParams.getAll(name);
      continue;
    }
    if (Object.hasOwn(seen, name)) issues.push({ path: `query.${name}`, message: "is given twice" });
    seen[name] = value;
  }
  if (issues.length > 0) throw new Problem(inputCodes[service].repeatedParameter, { errors: issues });
  return { ...seen };
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
  const parseJson = (bytes: Uint8Array, { maxMembers: members, keepsDigits }: AnyEndpoint): unknown =>
    options.parseJson === undefined ? readStrictJson(bytes, { depth: 64, members, keepsDigits }) : options.parseJson(bytes, members);
  const shares = createBodyShares();

  const readBody = async (endpoint: AnyEndpoint, request: Request): Promise<unknown> => {
    if (endpoint.body === undefined || endpoint.ownBody !== undefined) return undefined;
    const codes = inputCodes[endpoint.service];
    const bytes = await readBytes(request, maxBodyBytes);
    if (bytes.byteLength > 0 && !isJson(request.headers.get("content-type")))
      throw new Problem(codes.wrongMedia, {
        detail: "Send application/json.",
        errors: [{ path: "header.content-type", message: "must be application/json" }],
      });
    const read = endpoint.body.safeParse(bytes.byteLength === 0 ? undefined : await parseJson(bytes, endpoint));
    if (read.success) return read.data;
    const issues = issuesOf(read.error);
    const onlyUnknown = issues.every((issue) => issue.code === "unknown");
    throw new Problem(onlyUnknown ? codes.unknownMember : codes.wrongBody, { errors: issues });
  };

  const readParameters = (
    endpoint: AnyEndpoint,
    request: Request,
    captured: Record<string, string>,
  ): { params: unknown; query: unknown } => {
    // Text that no database keeps names nothing.
    const isFit = Object.values(captured).every((text) => text.isWellFormed() && !text.includes("\0"));
    const params = endpoint.params?.safeParse(captured);
    if (!isFit || (params !== undefined && !params.success)) throw new Problem("not_found");
    const codes = inputCodes[endpoint.service];
    const given = request.url.includes("?") ? (options.readQuery ?? readQuery)(new URL(request.url), endpoint) : {};
    if (endpoint.query === undefined) {
      const issues = Object.keys(given).map((name) => ({ path: `query.${name}`, message: "is not known here", code: "unknown" }));
      if (issues.length > 0) throw new Problem(codes.unknownParameter, { errors: issues });
      return { params: params?.data, query: undefined };
    }
    const query = endpoint.query.safeParse(given);
    if (query.success) return { params: params?.data, query: query.data };
    const issues = queryIssuesOf(query.error);
    throw new Problem(issues.some((issue) => issue.code === "unknown") ? codes.unknownParameter : codes.wrongParameter, { errors: issues });
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
    return new TextResponse(given.text ?? JSON.stringify(given.value), { status, headers });
  };

  /** What the reference does not say of an endpoint is no answer of it. */
  const declared = (problem: Problem, endpoint: AnyEndpoint): Problem =>
    !options.validateReplies || problemsOf(endpoint).includes(problem.code)
      ? problem
      : new Problem("internal", { cause: new TypeError(`${endpoint.method} ${endpoint.path} does not declare ${problem.code}`) });

  const fail = (error: unknown, correlationId: string, endpoint?: AnyEndpoint): Response => {
    const problem = endpoint === undefined ? asProblem(error) : declared(asProblem(error), endpoint);
    const level = logLevelOf(problem.status);
    if (level !== undefined)
      options.log[level]("http_rejected", { correlation_id: correlationId, code: problem.code, cause: problem.options.cause });
    return problemResponse(problem, correlationId);
  };

  const shareOf = (request: Request, caller: C): BodyShare | undefined => {
    // Nobody in particular asks where no credential is asked for; no body is read there.
    const key = caller === undefined ? undefined : options.shareOf(caller);
    if (key === undefined) return undefined;
    const share = shares(key);
    withShare(request, share);
    return share;
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
        using _share = shareOf(request, caller);
        const spanOptions = {
          kind: "server",
          parent: isOfInstance(caller) ? (request.headers.get("traceparent") ?? undefined) : undefined,
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
        response = fail(error, correlationId, endpoint);
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
    const isThere = allowed.length > 0;
    const problem = isThere ? new Problem("method_not_allowed", { headers: { allow: allowed.join(", ") } }) : new Problem("not_found");
    return problemResponse(problem, correlationId);
  });

  return { serve, raw, shareOf, fetch: async (request) => app.fetch(request), served };
};

/** Another service of Sallyport asks: it says what trace this belongs to. A stranger's word on that does not count. */
const isOfInstance = (caller: unknown): boolean => {
  if (typeof caller !== "object" || caller === null) return false;
  const { isInternalService, isServiceCall } = caller as { readonly isInternalService?: unknown; readonly isServiceCall?: unknown };
  return isInternalService === true || isServiceCall === true;
};

const matches = (pattern: string, path: string): boolean => {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith("{") || part === given[index]);
};
