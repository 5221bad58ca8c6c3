import { isObject } from "./is-object.ts";
import type { Endpoint, ReplyOf, SentBody, SentParams, SentQuery } from "./endpoint.ts";
import { isProblemCode, Problem, type Issue, type ProblemBody } from "./problem.ts";

/** Where a request goes: the service's own `fetch` in one process, an HTTP client elsewhere, `fetch` in a browser. */
export type Peer = (request: Request) => Promise<Response>;

export interface AskOptions<E> {
  readonly params?: SentParams<E>;
  readonly query?: SentQuery<E>;
  readonly body?: SentBody<E>;
  /** Sent as it is, to an endpoint that takes a text; its media type is the header `content-type`. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Address that the path is put on; only its origin and prefix count. */
  readonly baseUrl?: string;
}

export interface Answered<R> {
  readonly value: R;
  readonly status: number;
  readonly headers: Headers;
}

const fillPath = (path: string, params: Readonly<Record<string, unknown>> | undefined): string =>
  path.replace(/\{([^}]+)\}/g, (_whole, name: string) => encodeURIComponent(String(params?.[name])));

const toQuery = (query: Readonly<Record<string, unknown>> | undefined): string => {
  const search = new URLSearchParams();
  for (const [name, given] of Object.entries(query ?? {}))
    for (const value of Array.isArray(given) ? (given as readonly unknown[]) : [given])
      if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") search.append(name, String(value));
  // A space is written so that it is one for every reader: a plus sign is itself to some.
  const text = search.toString().replaceAll("+", "%20");
  return text === "" ? "" : `?${text}`;
};

/** Turns a problem+json answer back into the `Problem` that its service threw. */
export const readProblem = async (response: Response): Promise<Problem> => {
  const body: unknown = await response.json().catch(() => undefined);
  if (!isObject(body) || typeof body["code"] !== "string" || !isProblemCode(body["code"])) {
    return new Problem("upstream_bad_response", { cause: { status: response.status } });
  }
  const {
    type,
    title: _title,
    status: _status,
    detail,
    code,
    correlation_id: _correlation,
    errors,
    ...members
  } = body as unknown as ProblemBody;
  const headers: Record<string, string> = {};
  for (const name of ["www-authenticate", "retry-after", "x-decision-id"]) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return new Problem(code as never, {
    detail: typeof detail === "string" ? detail : undefined,
    errors: Array.isArray(errors) ? (errors as readonly Issue[]) : undefined,
    type: type === `urn:sallyport:problem:${code}` ? undefined : type,
    members,
    headers,
    status: response.status === 409 || response.status === 429 ? response.status : undefined,
  });
};

/**
 * What comes first: the work's end, or the signal. A service in the same process does not stop for a signal, and whoever
 * asks it need not wait for it all the same.
 */
const orAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });

/**
 * Typed call of an endpoint; used by peers, tests and the browser. Throws the `Problem` of a refusal. A reply that
 * does not fit its schema is `upstream_bad_response`, never data.
 */
export const askAnswer = async <E extends Endpoint>(
  peer: Peer,
  endpoint: E,
  options: AskOptions<E> = {},
): Promise<Answered<ReplyOf<E>>> => {
  const path = fillPath(endpoint.path, options.params as Record<string, unknown> | undefined);
  const url = `${options.baseUrl ?? "http://sallyport.internal"}${path}${toQuery(options.query as Record<string, unknown> | undefined)}`;
  const headers = new Headers(options.headers);
  if (options.body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const sent = peer(
    new Request(url, {
      method: endpoint.method,
      headers,
      body: options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body)),
      signal: options.signal,
    }),
  );
  const response = await (options.signal === undefined ? sent : orAborted(sent, options.signal));
  // A redirect or a cache's word is no answer either, whatever stands in its body.
  if (!response.ok) throw await readProblem(response);
  const isYaml = response.headers.get("content-type")?.startsWith("application/yaml") === true;
  const body: unknown = response.status === 204 ? undefined : await (isYaml ? response.text() : response.json()).catch(() => undefined);
  const read = endpoint.reply.safeParse(body);
  if (!read.success) throw new Problem("upstream_bad_response", { cause: read.error });
  return { value: read.data as ReplyOf<E>, status: response.status, headers: response.headers };
};

/** As `askAnswer`, but only the value. */
export const ask = async <E extends Endpoint>(peer: Peer, endpoint: E, options: AskOptions<E> = {}): Promise<ReplyOf<E>> =>
  (await askAnswer(peer, endpoint, options)).value;
