import { readFile } from "node:fs/promises";
import { Pool } from "undici";
import { Problem } from "#contract/problem.ts";
import type { RouteService } from "#gateway/routes/route-service.ts";
import { saturated } from "./upstream-failures.ts";

/** One of the addresses at which a service is. */
export interface Instance {
  /** Before every path; empty or begins with `/`. */
  readonly base: string;
  readonly requests: Pool;
  /** A stream holds its connection for hours: it must not take the place of a request. Their number has its own limits. */
  readonly streams: Pool;
  inFlight: number;
  openStreams: number;
  failuresInRow: number;
  restsUntil: number;
}

/** A place at an instance, for one exchange. */
export interface Lease {
  readonly instance: Instance;
  release(): void;
}

export interface LeaseOptions {
  readonly isStream: boolean;
  /** Where it was tried before: another one is taken if there is one. */
  readonly except?: Instance;
  readonly signal: AbortSignal;
}

export interface Instances {
  /**
   * A place at the instance that has fewest under way; at the end of a queue if all are taken. Throws
   * `upstream_unavailable` after a second, or at once when the queue is full.
   */
  lease(options: LeaseOptions): Lease | Promise<Lease>;
  /** How an exchange ended: who could not be reached, or failed three times in a row, rests for a while. */
  note(instance: Instance, outcome: "ok" | "unreached" | "failed"): void;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

const QUEUED_MS = 1000;
const REST_MS = 5000;
const FAILURES_IN_ROW = 3;

const openInstances = async (service: RouteService, connectMs: number, internalCa?: readonly string[]): Promise<readonly Instance[]> => {
  const read = async (file: string | undefined) => (file === undefined ? undefined : readFile(file));
  const [own, cert, key] = await Promise.all([read(service.caFile), read(service.clientCertFile), read(service.clientKeyFile)]);
  const ca = own ?? (service.isInternal && internalCa !== undefined ? [...internalCa] : undefined);
  const open = (origin: string, connections: number | null) =>
    new Pool(origin, {
      connections,
      pipelining: 1,
      // The pipeline has its own clocks for headers, silence and the whole.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: connectMs, ca, cert, key },
    });
  return service.baseUrls.map((text) => {
    const url = new URL(text);
    return {
      base: url.pathname.replace(/\/$/, ""),
      requests: open(url.origin, service.pool),
      streams: open(url.origin, null),
      inFlight: 0,
      openStreams: 0,
      failuresInRow: 0,
      restsUntil: 0,
    };
  });
};

/** The instances of a service, with `pool` places each and one queue of `queue` before them. */
export const createInstances = async (service: RouteService, connectMs: number, internalCa?: readonly string[]): Promise<Instances> => {
  const all = await openInstances(service, connectMs, internalCa);
  const waiting = new Set<{ readonly options: LeaseOptions; readonly take: (lease: Lease) => void }>();

  const load = (instance: Instance, isStream: boolean): number => (isStream ? instance.openStreams : instance.inFlight);

  /** Who rests is asked only if all do: nobody knows better than one who tries. */
  const choose = ({ isStream, except }: LeaseOptions): Instance | undefined => {
    const now = performance.now();
    const others = all.filter((instance) => instance !== except);
    const candidates = others.length === 0 ? all : others;
    const awake = candidates.filter((instance) => instance.restsUntil <= now);
    let found: Instance | undefined;
    for (const instance of awake.length === 0 ? candidates : awake) {
      if (!isStream && instance.inFlight >= service.pool) continue;
      if (found === undefined || load(instance, isStream) < load(found, isStream)) found = instance;
    }
    return found;
  };

  const serveNext = (): void => {
    for (const next of waiting) {
      const instance = choose(next.options);
      if (instance === undefined) return;
      waiting.delete(next);
      next.take(occupy(instance, false));
      return;
    }
  };

  const occupy = (instance: Instance, isStream: boolean): Lease => {
    const add = (by: 1 | -1): void => {
      if (isStream) instance.openStreams += by;
      else instance.inFlight += by;
    };
    add(1);
    return {
      instance,
      release: () => {
        add(-1);
        if (waiting.size > 0) serveNext();
      },
    };
  };

  const queue = (options: LeaseOptions): Promise<Lease> => {
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const place = { options, take: resolve };
    const leave = (why: unknown): void => {
      if (waiting.delete(place)) reject(why as Error);
    };
    const refuse = () => new Problem("upstream_unavailable", { detail: "Too many wait for it.", cause: saturated });
    if (waiting.size >= service.queue) throw refuse();
    waiting.add(place);
    const timer = setTimeout(() => leave(refuse()), QUEUED_MS);
    const abort = (): void => leave(options.signal.reason);
    options.signal.addEventListener("abort", abort, { once: true });
    return promise.finally(() => {
      clearTimeout(timer);
      options.signal.removeEventListener("abort", abort);
    });
  };

  return {
    lease: (options) => {
      // Nobody overtakes those who wait.
      const instance = waiting.size > 0 && !options.isStream ? undefined : choose(options);
      return instance === undefined ? queue(options) : occupy(instance, options.isStream);
    },
    note: (instance, outcome) => {
      if (outcome === "ok") {
        instance.failuresInRow = 0;
        instance.restsUntil = 0;
        return;
      }
      instance.failuresInRow += 1;
      if (outcome === "unreached" || instance.failuresInRow >= FAILURES_IN_ROW) instance.restsUntil = performance.now() + REST_MS;
    },
    close: async () => {
      await Promise.all(all.flatMap(({ requests, streams }) => [requests.close(), streams.close()]));
    },
    destroy: async () => {
      await Promise.all(all.flatMap(({ requests, streams }) => [requests.destroy(), streams.destroy()]));
    },
  };
};
