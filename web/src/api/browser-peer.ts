import type { Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import type { SessionHolder } from "../session/session-store.ts";
import { isStepUp } from "../session/step-up.ts";

export interface BrowserPeerParts {
  readonly fetch: typeof fetch;
  /** The token for the CSRF headers, and somebody to tell when the session is over. */
  readonly session: Pick<SessionHolder, "csrfToken" | "recheck">;
  readonly newId: () => string;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly random: () => number;
  /** Of one attempt; 30 s unless said. */
  readonly timeoutMs?: number;
}

const SAFE = new Set(["GET", "HEAD"]);
const REPEATABLE = new Set([429, 502, 503]);
const MAX_REPEATS = 2;
const MAX_RETRY_AFTER_S = 30;

/** Milliseconds before the next try of a read; `undefined` = do not repeat. */
export const repeatAfter = (response: Response, attempt: number, random: () => number): number | undefined => {
  if (!REPEATABLE.has(response.status) || attempt >= MAX_REPEATS) return undefined;
  const text = response.headers.get("retry-after");
  const asked = text === null ? 0 : Number(text);
  if (!Number.isFinite(asked) || asked > MAX_RETRY_AFTER_S) return undefined;
  return asked * 1000 + random() * 300 * 2 ** attempt;
};

const isCsrfRefusal = async (response: Response): Promise<boolean> => {
  if (response.status !== 403) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const code = typeof body === "object" && body !== null && "code" in body ? body.code : undefined;
  return typeof code === "string" && code.startsWith("csrf_");
};

/**
 * `fetch` as this page uses it: cookies of the own origin, the headers that prove the page itself asked, a time limit,
 * reads repeated at most twice, writes never. A write whose answer is lost is `outcome_unknown`, not a failure.
 */
export const createBrowserPeer = (parts: BrowserPeerParts): Peer => {
  const headersOf = (request: Request, idempotencyKey: string): Headers => {
    const headers = new Headers(request.headers);
    headers.set("x-requested-with", "XMLHttpRequest");
    if (!headers.has("x-correlation-id")) headers.set("x-correlation-id", parts.newId());
    if (SAFE.has(request.method)) return headers;
    // A request says this of a text whose type nobody named.
    if (headers.get("content-type")?.startsWith("text/plain") !== false) headers.set("content-type", "application/json");
    if (!headers.has("idempotency-key")) headers.set("idempotency-key", idempotencyKey);
    const token = parts.session.csrfToken();
    if (token !== undefined) {
      headers.set("x-csrf-token", token);
      headers.set("x-csrftoken", token);
    }
    return headers;
  };

  return async (request) => {
    const isRead = SAFE.has(request.method);
    const idempotencyKey = parts.newId();
    const body = isRead ? undefined : await request.text();
    const target = new URL(request.url);

    const attempt = async (): Promise<Response> =>
      await parts.fetch(`${target.pathname}${target.search}`, {
        method: request.method,
        headers: headersOf(request, idempotencyKey),
        body: body || undefined,
        credentials: "same-origin",
        redirect: "error",
        cache: "no-store",
        signal: AbortSignal.any([request.signal, AbortSignal.timeout(parts.timeoutMs ?? 30_000)]),
      });

    const send = async (repeats: number): Promise<Response> => {
      let response: Response;
      try {
        response = await attempt();
      } catch (cause) {
        request.signal.throwIfAborted();
        const isTimeout = cause instanceof DOMException && cause.name === "TimeoutError";
        if (!isRead) throw new Problem("outcome_unknown", { cause });
        if (isTimeout || repeats >= MAX_REPEATS) throw new Problem(isTimeout ? "upstream_timeout" : "upstream_unavailable", { cause });
        await parts.sleep(200 * 2 ** repeats + parts.random() * 300);
        return await send(repeats + 1);
      }
      const wait = isRead ? repeatAfter(response, repeats, parts.random) : undefined;
      if (wait === undefined) return response;
      await parts.sleep(wait);
      return await send(repeats + 1);
    };

    const first = await send(0);
    if (first.status === 401 && !isStepUp(first.headers.get("www-authenticate"))) {
      await parts.session.recheck();
      return first;
    }
    if (isRead || !(await isCsrfRefusal(first))) return first;
    await parts.session.recheck();
    return await send(0);
  };
};
