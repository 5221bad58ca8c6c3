import { z } from "zod";
import { ask, type Peer } from "#contract/ask.ts";
import { metadata } from "#contract/authzen.ts";
import { Problem } from "#contract/problem.ts";
import { createKeptAnswer } from "./stored-answer.ts";

/** State of one part, as health answers it. */
export interface CheckState {
  readonly status: "up" | "degraded" | "down" | "not_configured";
  readonly latency_ms: number;
  /** Since when it is so, RFC 3339. */
  readonly since: string;
  /** What the part says that it lacks; only where it says so. */
  readonly reasons?: string[];
}

/** Thrown by a check whose part answers, and says that it cannot do its work. */
export class Unready extends Error {
  readonly reasons: readonly string[];
  /** It has no page that would say so. */
  readonly isUnknown: boolean;

  constructor(reasons: readonly string[], isUnknown = false) {
    super(`not ready: ${reasons.join(", ")}`);
    this.reasons = reasons;
    this.isUnknown = isUnknown;
  }
}

/** All parts; each is asked at most once in the time that answers are kept. Never fails. */
export type HealthChecks = () => Promise<Readonly<Record<string, CheckState>>>;

const TIMEOUT_MS = 2000;

/**
 * Asks a part whether it answers, and what of its work it cannot do then. The signal says that nobody waits any more: what was asked is
 * let go then.
 */
export type HealthCheck = (signal: AbortSignal) => Promise<void | readonly string[]>;

/** Of a sink of events: it takes them, and few wait. Never asks the sink itself. */
export const requireTaken =
  (backlog: { issues(): readonly string[] }): HealthCheck =>
  async () => {
    const issues = backlog.issues();
    if (issues.length > 0) throw new Unready(issues);
  };

const reasons = z.array(z.string().regex(/^[a-z][a-z0-9_:+-]{0,63}$/)).max(8);
const notReady = z.object({ reasons });
const degraded = z.object({ degraded: reasons });

/**
 * Whether a service of Sallyport can do its work, and what of it not: what it says of its own readiness. Throws `Unready` with what is
 * missing, of a certificate that is not trusted too.
 */
export const requireReady = async (service: Peer, signal: AbortSignal): Promise<readonly string[]> => {
  const response = await service(new Request("http://sallyport.internal/health/ready", { signal })).catch((error: unknown) => {
    throw error instanceof Problem && error.code === "upstream_tls_failed" ? new Unready(["certificate"]) : error;
  });
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) return degraded.safeParse(body).data?.degraded ?? [];
  const said = notReady.safeParse(body);
  throw new Unready(said.success ? said.data.reasons : [], response.status === 404);
};

/** The same of the decision point: a foreign one that has no such page is up when it shows its metadata. */
export const requireReadyPdp = async (pdp: Peer, signal: AbortSignal): Promise<readonly string[]> => {
  try {
    return await requireReady(pdp, signal);
  } catch (error) {
    if (!(error instanceof Unready && error.isUnknown)) throw error;
    await ask(pdp, metadata, { signal });
    return [];
  }
};

/**
 * Asks parts whether they answer. Whoever calls often gets the last answer, which stands for `keptMs`: a health page is no way to load the
 * parts. `isAsked` leaves out those that are none of this moment.
 */
export const createHealthChecks = (
  checks: Readonly<Record<string, HealthCheck>>,
  parts: { readonly keptMs: number; readonly now: () => Date; readonly isAsked?: (name: string) => boolean },
): HealthChecks => {
  const { keptMs, now, isAsked = () => true } = parts;
  const last = new Map<string, CheckState>();

  const look = async (name: string, check: HealthCheck): Promise<CheckState> => {
    const started = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const over = new AbortController();
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const reason = new Error("it does not answer");
        reject(reason);
        over.abort(reason);
      }, TIMEOUT_MS);
    });
    const { status, reasons } = await Promise.race([check(over.signal), late]).then(
      (said) =>
        typeof said === "object" && said.length > 0
          ? { status: "degraded" as const, reasons: said }
          : { status: "up" as const, reasons: [] },
      (cause: unknown) => ({ status: "down" as const, reasons: cause instanceof Unready ? cause.reasons : [] }),
    );
    clearTimeout(timer);
    const before = last.get(name);
    const state: CheckState = {
      status,
      latency_ms: Math.round((performance.now() - started) * 10) / 10,
      since: before?.status === status ? before.since : now().toISOString(),
      ...(reasons.length === 0 ? {} : { reasons: [...reasons] }),
    };
    last.set(name, state);
    return state;
  };

  const askAll = async (): Promise<Readonly<Record<string, CheckState>>> => {
    const asked = Object.entries(checks).filter(([name]) => isAsked(name));
    return Object.fromEntries(await Promise.all(asked.map(async ([name, check]) => [name, await look(name, check)] as const)));
  };
  return createKeptAnswer(askAll, { goodMs: keptMs, failedMs: keptMs, whileFailed: "failure" }, () => performance.now());
};
