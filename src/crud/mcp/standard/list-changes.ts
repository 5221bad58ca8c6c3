import { sha256Of } from "#crud/mcp/digest.ts";
import { listTools, principalOf, type ListParts } from "#crud/mcp/list-tools.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-keeper.ts";
import type { Visit } from "#crud/mcp/tool-desk.ts";
import type { LiveBus } from "#events/live-bus.ts";
import type { Log } from "#telemetry/log.ts";

export interface ListChangesParts extends ListParts {
  readonly bus: Pick<LiveBus, "watch">;
  readonly catalogue: CatalogueKeeper;
  readonly now: () => Date;
  readonly log: Log;
}

/** Tells a client that its own list is another one now. */
export interface ListChanges {
  /** The returned function ends it. A subscription ends with its token. */
  subscribe(visit: Visit, changed: () => void): () => void;
  [Symbol.dispose](): void;
}

interface Subscriber {
  visit: Visit;
  readonly changed: () => void;
  digest: string | undefined;
}

/** At most so often is a list computed anew and its client told. */
const PAUSE_MS = 1000;

/**
 * The tenant's configuration stream tells of delegations, graph, policies and tools; the catalogue of its own swaps. Then
 * each subscriber's list is computed anew and compared by digest, so only those are told whose own list changed.
 */
export const createListChanges = (parts: ListChangesParts): ListChanges => {
  const tenants = new Map<
    string,
    { readonly subscribers: Set<Subscriber>; readonly unwatch: () => void; timer?: NodeJS.Timeout | undefined; lastAt: number }
  >();

  const digestOf = async (visit: Visit): Promise<string> => {
    const { snapshot } = parts.catalogue;
    const view = snapshot.views.get(visit.view.name);
    if (view === undefined) return "";
    const listed = await listTools({ caller: visit.caller, view, snapshot, correlationId: visit.correlationId }, parts);
    return sha256Of(listed.tools.map((tool) => [tool.name, tool.digest]));
  };

  const compare = async (subscriber: Subscriber): Promise<void> => {
    try {
      const digest = await digestOf(subscriber.visit);
      const isOther = subscriber.digest !== undefined && subscriber.digest !== digest;
      subscriber.digest = digest;
      if (isOther) subscriber.changed();
    } catch (cause) {
      // Not decidable now: what the client holds may be stale, so it is told to ask, and is refused or served then.
      parts.log.debug("mcp_list_watch_failed", { cause });
      subscriber.changed();
    }
  };

  const look = (tenant: string): void => {
    const held = tenants.get(tenant);
    if (held === undefined || held.timer !== undefined) return;
    const wait = Math.max(20, PAUSE_MS - (performance.now() - held.lastAt));
    held.timer = setTimeout(() => {
      held.timer = undefined;
      held.lastAt = performance.now();
      const seconds = parts.now().getTime() / 1000;
      const seen = new Map<string, Subscriber[]>();
      for (const subscriber of held.subscribers) {
        if (subscriber.visit.caller.expiresAt <= seconds) continue;
        const key = `${principalOf(subscriber.visit.caller)} ${subscriber.visit.view.name}`;
        seen.set(key, [...(seen.get(key) ?? []), subscriber]);
      }
      for (const group of seen.values()) for (const subscriber of group) void compare(subscriber);
    }, wait);
    held.timer.unref();
  };

  const unsubscribeCatalogue = parts.catalogue.subscribe(() => {
    for (const tenant of tenants.keys()) look(tenant);
  });

  return {
    subscribe: (visit, changed) => {
      const { tenant } = visit.caller;
      const held = tenants.get(tenant) ?? {
        subscribers: new Set<Subscriber>(),
        unwatch: parts.bus.watch(tenant, "config", () => look(tenant)),
        lastAt: Number.NEGATIVE_INFINITY,
      };
      tenants.set(tenant, held);
      const subscriber: Subscriber = { visit, changed, digest: undefined };
      held.subscribers.add(subscriber);
      void digestOf(visit).then(
        (digest) => {
          subscriber.digest ??= digest;
        },
        () => undefined,
      );
      return () => {
        held.subscribers.delete(subscriber);
        if (held.subscribers.size > 0 || tenants.get(tenant) !== held) return;
        clearTimeout(held.timer);
        held.unwatch();
        tenants.delete(tenant);
      };
    },
    [Symbol.dispose]: () => {
      unsubscribeCatalogue();
      for (const held of tenants.values()) {
        clearTimeout(held.timer);
        held.unwatch();
      }
      tenants.clear();
    },
  };
};
