import { createConfigWatch } from "#events/streams/config-watch.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import type { Log } from "#telemetry/log.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import { sha256Of } from "#crud/model/digest.ts";
import type { KillSwitches } from "#crud/tools/kill-switches.ts";
import { principalOf } from "#crud/tools/tool-call.ts";
import { listPermitted, type ListParts } from "#crud/mcp/list-tools.ts";
import { findView } from "#crud/tools/views.ts";
import type { Visit } from "#crud/mcp/tool-service.ts";

export interface ListChangesParts extends ListParts {
  readonly bus: Pick<LiveBus, "subscribe">;
  readonly catalogue: CatalogueKeeper;
  readonly kills: Pick<KillSwitches, "of" | "guard" | "requireKnown" | "subscribe">;
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
  readonly expiresAt: number;
  readonly changed: () => void;
}

/** All whose list is the same one. */
interface Group {
  /** With the token of the last one to come. */
  visit: Visit;
  readonly subscribers: Set<Subscriber>;
  digest: string | undefined;
  /** One comparison after the other. */
  comparing: Promise<void>;
}

interface Watched {
  readonly groups: Map<string, Group>;
  readonly unwatch: () => void;
  timer?: NodeJS.Timeout | undefined;
  isComparing: boolean;
  isStale: boolean;
  comparedAt: number;
  /** How often something that lists hang on has moved. */
  moves: number;
}

/** At most so often are a tenant's lists computed anew and its clients told. */
const PAUSE_MS = 1000;

/** What a list hangs on; limits and money are taken as met. */
const LIST_KINDS: ReadonlySet<string> = new Set(["config", "tools", "delegation", "graph", "policy", "plugin"]);

/** Those with one key are decided alike. */
const groupKey = ({ caller, view }: Visit): string =>
  JSON.stringify([view.name, principalOf(caller), caller.clientId ?? "", [...caller.scopes].toSorted()]);

/**
 * The tenant's configuration stream tells of delegations, graph, policies and tools; the catalogue and the kill switches of their own changes. Then
 * each list that somebody waits for is computed anew, once for all who have the same one and one after the other, and
 * compared by digest, so only those are told whose own list changed. While nothing moves nothing is computed.
 */
export const createListChanges = (parts: ListChangesParts): ListChanges => {
  const watch = createConfigWatch({ bus: parts.bus, kinds: LIST_KINDS, log: parts.log });
  const tenants = new Map<string, Watched>();

  const digestOf = async (visit: Visit): Promise<string> => {
    const { snapshot } = parts.catalogue;
    const view = findView(snapshot.views, visit.view.name, visit.caller.tenant);
    if (view === undefined) return "";
    const listed = await listPermitted({ ...visit, view, snapshot, isBackground: true }, parts);
    return sha256Of(listed.tools.map((tool) => [tool.name, tool.digest]));
  };

  const tell = ({ subscribers }: Group): void => {
    const seconds = parts.now().getTime() / 1000;
    for (const { expiresAt, changed } of subscribers) if (expiresAt > seconds) changed();
  };

  const compareNow = async (group: Group, held: Watched): Promise<void> => {
    if (group.subscribers.size === 0 || group.visit.caller.expiresAt <= parts.now().getTime() / 1000) return;
    const known = group.digest;
    const { moves } = held;
    try {
      group.digest = await digestOf(group.visit);
      // What moved while the first list was computed may be in it already, and is not in what the client holds.
      if (known === undefined ? held.moves !== moves : known !== group.digest) tell(group);
    } catch (cause) {
      // Not decidable now: what the clients hold may be stale, so they are told to ask, and are refused or served then.
      parts.log.debug("mcp_list_watch_failed", { cause });
      if (known !== undefined) tell(group);
    }
  };
  const compare = (group: Group, held: Watched): Promise<void> => (group.comparing = group.comparing.then(() => compareNow(group, held)));

  const compareAll = async (held: Watched): Promise<void> => {
    held.isComparing = true;
    held.isStale = false;
    for (const group of held.groups.values()) await compare(group, held);
    held.isComparing = false;
    held.comparedAt = performance.now();
    if (held.isStale) look(held);
  };

  const look = (held: Watched): void => {
    held.isStale = true;
    held.moves += 1;
    if (held.timer !== undefined || held.isComparing || held.groups.size === 0) return;
    const wait = Math.max(20, PAUSE_MS - (performance.now() - held.comparedAt));
    held.timer = setTimeout(() => {
      held.timer = undefined;
      void compareAll(held);
    }, wait).unref();
  };

  const watchTenant = (tenant: string): Watched => {
    const held: Watched = {
      groups: new Map(),
      unwatch: watch.watch(tenant, () => look(held)),
      isComparing: false,
      isStale: false,
      comparedAt: Number.NEGATIVE_INFINITY,
      moves: 0,
    };
    tenants.set(tenant, held);
    return held;
  };

  const leave = (tenant: string, held: Watched): void => {
    clearTimeout(held.timer);
    held.unwatch();
    held.groups.clear();
    if (tenants.get(tenant) === held) tenants.delete(tenant);
  };

  const lookAll = (): void => {
    for (const held of tenants.values()) look(held);
  };
  const unsubscribe = [parts.catalogue.subscribe(lookAll), parts.kills.subscribe(lookAll)];

  return {
    subscribe: (visit, changed) => {
      const { tenant, expiresAt } = visit.caller;
      const held = tenants.get(tenant) ?? watchTenant(tenant);
      const key = groupKey(visit);
      const group = held.groups.get(key) ?? { visit, subscribers: new Set(), digest: undefined, comparing: Promise.resolve() };
      if (expiresAt > group.visit.caller.expiresAt) group.visit = visit;
      const subscriber: Subscriber = { expiresAt, changed };
      group.subscribers.add(subscriber);
      if (!held.groups.has(key)) {
        held.groups.set(key, group);
        void compare(group, held);
      }
      return () => {
        group.subscribers.delete(subscriber);
        if (group.subscribers.size === 0 && held.groups.get(key) === group) held.groups.delete(key);
        if (held.groups.size === 0) leave(tenant, held);
      };
    },
    [Symbol.dispose]: () => {
      for (const end of unsubscribe) end();
      for (const [tenant, held] of tenants) leave(tenant, held);
    },
  };
};
