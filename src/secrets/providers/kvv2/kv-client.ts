import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseLosslessJson } from "#contract/exact-numbers.ts";
import { Problem } from "#contract/problem.ts";
import { boundPeer } from "#http/bounded-peer.ts";
import { createBreaker } from "#http/breaker.ts";
import { untrustedCode, type Send } from "#http/trusting-fetch.ts";
import { wasNeverSent } from "#http/was-never-sent.ts";
import { fartherOf, readPosition, type StorePosition } from "#secrets/model/store-position.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { createKvSession, type KvMemory } from "./kv-session.ts";
import { storeOf, type KvServer } from "./kv-settings.ts";

export interface KvClientParts {
  readonly server: KvServer;
  /** Scheme, as records name the provider. */
  readonly name: string;
  /** `openTrustingFetch` of the server's authorities. */
  readonly send: Send;
  readonly metrics: Metrics;
  readonly now: () => Date;
  /** What is kept of the server; of this client alone unless given. */
  readonly memory?: KvMemory;
}

export interface KvAnswer {
  readonly status: number;
  /** The answer's `data`, every digit kept; `undefined` without one. */
  readonly data: Record<string, unknown> | undefined;
  /** What the server's clock said, to the end of its second; Sallyport's own where it said nothing. */
  readonly at: Date;
}

export interface KvClient {
  /**
   * One call below `/v1/`, the path sent as it is. `again`: it may be repeated when no answer came. 403 brings one new
   * sign-in. Throws `provider_unavailable` (sealed, silent, untrusted; 503), `provider_denied` (403), `provider_error`,
   * `provider_redirect` (502), see `mayBeDone`; answers 200, 204, 404 and 400 with `cas` come back. Text of the server never leaves here.
   */
  call(verb: KvVerb, path: string, body?: unknown, again?: boolean): Promise<KvAnswer>;
  /** Signs in now, so that a credential which is good for nothing is known at once. Throws as `call`. */
  signIn(): Promise<void>;
  /** What the server says of itself: `up`, `sealed`, `standby`, ... or `unreachable`. */
  health(): Promise<string>;
  /** How far the store has come, as far as this process knows. */
  position(): StorePosition | undefined;
  /** Nothing is read any more where the store has come less far. */
  reach(position: StorePosition): void;
  /** The store behind the address, whatever that is called: its cluster and the namespace of all calls. `undefined`: it does not say. */
  store(): Promise<string | undefined>;
  /** Which of these names are child namespaces of the store and no mounts; asked without a token. Throws `provider_unavailable`. */
  namespacesAmong(names: readonly string[]): Promise<readonly string[]>;
}

export type KvVerb = "GET" | "POST" | "DELETE" | "LIST";

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_TRIES = 3;
const TRY_FOR_MS = 2000;
const CAS = "check-and-set";
/** A fresh mount passes. */
const passing = "Upgrading from non-versioned";
/** A standby that has not come so far yet has done nothing: whatever it was is asked again, a little longer than other faults. */
const BEHIND = "The store's standby is behind.";
const MAX_TRIES_BEHIND = 6;
const isBehind = (error: unknown): boolean =>
  error instanceof Problem && error.options.detail === BEHIND && error.options.cause === undefined;
/** A node that was active answers so for seconds; a store that does so for longer was restored from a backup. */
const RESTORED_AFTER_MS = 60_000;
/** While the active node changes, nodes send on to one that sends on, too. */
const MAX_FOLLOWS = 3;
/** Nothing was done: there was no active node to send it to. */
const NO_ACTIVE = "local node not active";
/** What a standby that is behind is to do. One word a request: OpenBao refuses two in one header. */
const FORWARD = "forward-active-node";
const AWAIT = "await-state";
const INCONSISTENT = "x-vault-inconsistent";
/** Also of a standby. */
const HEALTH = "sys/health?standbyok=true&perfstandbyok=true";
const healthWords: Readonly<Record<number, string>> = {
  200: "up",
  429: "standby",
  472: "dr_secondary",
  473: "perf_standby",
  501: "uninitialised",
  503: "sealed",
};

const unavailable = (detail: string, cause?: unknown): Problem =>
  new Problem("provider_unavailable", { detail, headers: { "retry-after": "2" }, ...(cause === undefined ? {} : { cause }) });

const mayHold: ReadonlySet<string> = new Set(["provider_unavailable", "provider_error"]);
/** Whether a call that failed so may have been done all the same: it was sent, and no answer came that refuses it. */
export const mayBeDone = (error: unknown): boolean => {
  if (!(error instanceof Problem) || !mayHold.has(error.code) || error.options.cause === undefined) return false;
  return !wasNeverSent(error.options.cause) && untrustedCode(error.options.cause) === undefined;
};

/** Of a server that is busy or away; whoever stands before it says so in its own form. */
const mayPass = (status: number): boolean => status === 412 || status === 429 || (status >= 500 && status <= 504);

/** The data and the refusals of an answer; a body that is no JSON is none of this server. */
const readBody = async (response: Response): Promise<{ data: KvAnswer["data"]; errors: string; whole: Record<string, unknown> }> => {
  const text = await response.text();
  if (text === "") return { data: undefined, errors: "", whole: {} };
  let whole: Record<string, unknown>;
  try {
    whole = parseLosslessJson(text) as Record<string, unknown>;
  } catch (cause) {
    if (mayPass(response.status)) return { data: undefined, errors: "", whole: {} };
    const isRefusal = response.status >= 400 && response.status < 500;
    throw new Problem("provider_error", { detail: "The store's answer is not JSON.", ...(isRefusal ? {} : { cause }) });
  }
  const { data, errors } = whole;
  return {
    data: typeof data === "object" && data !== null ? (data as Record<string, unknown>) : undefined,
    errors: Array.isArray(errors) ? errors.join(" ") : "",
    whole,
  };
};

export const createKvClient = (parts: KvClientParts): KvClient => {
  const { server, name, metrics, memory = {} } = parts;
  const breaker = createBreaker({
    name: `secrets.${name}`,
    metrics,
    isFailure: (error) => error instanceof Problem && error.code === "provider_unavailable",
    refuse: () => unavailable("The store did not answer lately; it is asked again in a second."),
    restMs: 1000,
  });
  const reach = boundPeer(
    async (request) => {
      const body = request.body === null ? undefined : await request.arrayBuffer();
      return parts.send(request.url, {
        method: request.method,
        headers: request.headers,
        redirect: "manual",
        signal: request.signal,
        ...(body === undefined ? {} : { body }),
      });
    },
    { timeoutMs: server.timeoutMs, maxBytes: MAX_BYTES, unavailable: "provider_unavailable", tooLarge: "provider_error" },
  );

  /** Where it was sent on to: the same path at an origin that the settings name, else nowhere. */
  const sentTo = (response: Response, target: string): string | undefined => {
    const location = response.status === 307 ? response.headers.get("location") : undefined;
    return [server.url, ...server.allowedOrigins].find((origin) => location === `${origin}/v1/${target}`);
  };

  /** An answer from farther back than was asked for is not believed: a node may take itself for active for a while. */
  const requireReached = (asked: StorePosition | undefined, response: Response, isRead: boolean): void => {
    const position = readPosition(response.headers.get("x-vault-index") ?? "");
    if (position === undefined) return;
    // Answers may overtake one another, and a node may be behind another one.
    memory.position = fartherOf(memory.position, position);
    // What refuses because it is behind says so.
    if (mayPass(response.status)) return;
    if (asked === undefined || fartherOf(asked, position) === position) return void delete memory.behindSince;
    const now = parts.now().getTime();
    memory.behindSince ??= now;
    if (now - memory.behindSince < RESTORED_AFTER_MS)
      throw unavailable(BEHIND, isRead ? undefined : new Error("answered from farther back"));
  };

  const whenBehind = (wasBehind: boolean): Readonly<Record<string, string>> =>
    memory.isPlain === true ? {} : { [INCONSISTENT]: server.flavor === "openbao" && !wasBehind ? AWAIT : FORWARD };

  /** One request; what it throws says that nobody usable answered. */
  const exchange = async (
    verb: KvVerb | "HEALTH",
    path: string,
    body: unknown,
    token: string | undefined,
    { namespace = server.namespace ?? "", wasBehind = false }: { readonly namespace?: string; readonly wasBehind?: boolean } = {},
  ): Promise<Response> => {
    // LIST is a method of its own that not every intermediary knows.
    const [method, target] =
      verb === "LIST" ? ["GET", `${path}${path.includes("?") ? "&" : "?"}list=true`] : [verb === "HEALTH" ? "GET" : verb, path];
    const headers = {
      "x-vault-request": "true",
      ...(token === undefined ? {} : { "x-vault-token": token }),
      ...(namespace === "" ? {} : { "x-vault-namespace": namespace }),
      // A node says of itself how it is.
      ...(memory.position === undefined || verb === "HEALTH" ? {} : { "x-vault-index": memory.position.place, ...whenBehind(wasBehind) }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    const ask = (origin: string): Promise<Response> =>
      reach(new Request(`${origin}/v1/${target}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }));
    const asked = verb === "HEALTH" ? undefined : memory.position;
    let response: Response;
    let elsewhere: string | undefined;
    try {
      response = await ask(server.url);
      for (let follows = 0; (elsewhere = sentTo(response, target)) !== undefined && follows < MAX_FOLLOWS; follows++)
        response = await ask(elsewhere);
      metrics.count("secrets_provider_requests_total", { provider: name, verb: verb.toLowerCase(), status: String(response.status) });
    } catch (cause) {
      metrics.count("secrets_provider_requests_total", { provider: name, verb: verb.toLowerCase(), status: "none" });
      // What may have done something is looked up, as after every answer that is lost.
      if (method === "GET" && cause instanceof Problem && cause.code === "provider_error")
        throw new Problem("provider_error", { detail: `The store's answer is over ${MAX_BYTES / 1024 / 1024} MiB.`, cause });
      const untrusted = untrustedCode(cause);
      throw unavailable(
        untrusted === undefined ? "The store does not answer." : `The store's certificate is not trusted here (${untrusted}).`,
        cause,
      );
    }
    if (elsewhere !== undefined) throw unavailable("The store's nodes send to one another: none is active now.");
    requireReached(asked, response, method === "GET");
    return response;
  };

  const timeOf = (response: Response): Date => {
    const said = Date.parse(response.headers.get("date") ?? "");
    return Number.isNaN(said) ? parts.now() : new Date(said + 999);
  };

  /** The answer if it is one to go on with; a fault that may pass is thrown as `provider_unavailable`. */
  const settle = async (response: Response): Promise<KvAnswer & { readonly whole: Record<string, unknown> }> => {
    const { status } = response;
    const at = timeOf(response);
    if (status >= 300 && status < 400)
      throw new Problem("provider_redirect", { detail: "The store sends elsewhere, which is not followed." });
    const { data, errors, whole } = await readBody(response);
    if (status === 503 && errors.includes("sealed")) throw unavailable("The store is sealed.");
    // It may have been done before it failed, or by whoever a proxy sent it to.
    const cause = status >= 500 && !errors.includes(NO_ACTIVE) ? new Error(`answered ${status}`) : undefined;
    if (status === 503) throw unavailable("The store is not ready.", cause);
    // OpenBao says 429 of it, without the words of a quota.
    const isBehind = status === 412 || (status === 429 && errors === "") || errors.includes("replicated state");
    if (isBehind && memory.position !== undefined) throw unavailable(BEHIND);
    if (status >= 400 && status < 500 && memory.isPlain !== true && errors.toLowerCase().includes(INCONSISTENT)) {
      memory.isPlain = true;
      throw unavailable(BEHIND);
    }
    if (status !== 501 && mayPass(status)) throw unavailable("The store cannot answer now.", cause);
    if (errors.includes(passing)) throw unavailable("The store is being prepared.");
    if (status === 400 && errors.includes(CAS)) throw new Problem("cas_mismatch");
    if (status === 400 && errors.includes("invalid role or secret ID")) return { status: 403, data: undefined, whole, at };
    if (![200, 204, 403, 404].includes(status)) throw new Problem("provider_error", { detail: `The store answered ${status}.`, cause });
    return { status, data, whole, at };
  };

  /** `sent.lost`: a try that may have been done. */
  const repeat = async <T>(work: (wasBehind: boolean) => Promise<T>, again: boolean, sent: { lost?: unknown } = {}): Promise<T> => {
    const ends = performance.now() + TRY_FOR_MS;
    let wasBehind = false;
    for (let tries = 1; ; tries++) {
      try {
        return await breaker.run(() => work(wasBehind));
      } catch (error) {
        wasBehind ||= isBehind(error);
        // Of several tries the one that may have been done is what is to be told.
        if (mayBeDone(error)) sent.lost = error;
        const mayPass = isBehind(error) || (again && error instanceof Problem && error.code === "provider_unavailable");
        const max = isBehind(error) ? MAX_TRIES_BEHIND : MAX_TRIES;
        if (!mayPass || tries >= max || performance.now() > ends) throw sent.lost ?? error;
        await sleep(50 * 2 ** tries * (0.5 + Math.random()));
      }
    }
  };

  const session = createKvSession(
    server,
    async (path, body, token) => {
      const answer = await repeat(async (wasBehind) => settle(await exchange("POST", path, body, token, { wasBehind })), true).catch(
        (error: unknown) => {
          // Some refusals of a renewal come as 400: then the token is as good as it is.
          if (error instanceof Problem && error.code === "provider_error") return undefined;
          throw error;
        },
      );
      return answer?.status === 200 ? answer.whole : undefined;
    },
    () => parts.now().getTime(),
    memory,
  );

  const call: KvClient["call"] = async (verb, path, body, given) => {
    const isRead = verb === "GET" || verb === "LIST";
    const again = given ?? isRead;
    const sent: { lost?: unknown } = {};
    for (let signIns = 0; ; signIns++) {
      const token = await session.token();
      const answer = await repeat(async (wasBehind) => settle(await exchange(verb, path, body, token, { wasBehind })), again, sent);
      if (answer.status !== 403) return answer;
      if (signIns > 0 || !(await session.refused(token)))
        throw (isRead ? undefined : sent.lost) ?? new Problem("provider_denied", { detail: "The store does not let Sallyport do this." });
    }
  };

  /** How the server is, it says in no namespace. */
  const askHealth = (): Promise<Response> => exchange("HEALTH", HEALTH, undefined, undefined, { namespace: "" });
  const isNamespace = async (name: string): Promise<boolean> => {
    const namespace = `${server.namespace ?? ""}/${name}`.replace(/^\//, "");
    const response = await exchange("GET", "sys/internal/ui/mounts", undefined, undefined, { namespace });
    await response.body?.cancel();
    return response.status === 200;
  };

  return {
    call,
    signIn: async () => void (await session.token()),
    position: () => memory.position,
    reach: (position) => void (memory.position = fartherOf(memory.position, position)),
    health: async () => {
      try {
        return healthWords[(await askHealth()).status] ?? "unreachable";
      } catch {
        return "unreachable";
      }
    },
    store: async () => storeOf(server, (await readBody(await askHealth())).whole),
    namespacesAmong: async (names) => {
      // A server without namespaces does not hear of them, and answers for whatever name.
      if (names.length === 0 || (await isNamespace(randomUUID()))) return [];
      const found = await Promise.all(names.map(isNamespace));
      return names.filter((_name, at) => found[at]);
    },
  };
};
