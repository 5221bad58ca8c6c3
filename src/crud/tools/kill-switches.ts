import { isDeepStrictEqual } from "node:util";
import type { KillSwitch } from "#contract/kill-switches.ts";
import type { SwitchedOff } from "#contract/switched-off.ts";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import { followChannel } from "#events/model/follow-channel.ts";
import { statement, type Database, type TransactionSql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import { configEntry, type Writer } from "#crud/versions/config-events.ts";
import type { Tool } from "./tool.ts";

interface Row extends KillSwitch {
  readonly tenant_id: string;
}

/** What a switch may be about. */
export interface Killable {
  readonly caller: { readonly tenant: string; readonly agent?: string | undefined; readonly actors: readonly string[] };
  readonly view: { readonly name: string };
  readonly tool: Pick<Tool, "name" | "provider" | "instance" | "isBuiltIn">;
}

const CHANNEL = "crud_kill";
const COLUMNS = "tenant_id, scope, reason, by_sub as by, at, until";
const ALL = statement<Row>(
  "crud.kill.all",
  `select ${COLUMNS} from crud.kill_switch where until is null or until > now() order by tenant_id, scope`,
);
const PUT = statement<Row>(
  "crud.kill.put",
  `insert into crud.kill_switch (tenant_id, scope, reason, by_sub, until) values ($1, $2, $3, $4, $5)
   on conflict (tenant_id, scope) do update set reason = excluded.reason, by_sub = excluded.by_sub, until = excluded.until, at = clock_timestamp()
   returning ${COLUMNS}`,
);
const LIFT = statement<Row>("crud.kill.lift", `delete from crud.kill_switch where tenant_id = $1 and scope = $2 returning ${COLUMNS}`);
const NOTIFY = statement("crud.kill.notify", "select pg_notify($1, '')");

/** What of a switch is told with what it switches off. */
export const switchedOffBy = (found: KillSwitch | undefined): { readonly switched_off?: SwitchedOff } => {
  if (found === undefined) return {};
  const { scope, reason, by, until } = found;
  return { switched_off: { scope, reason, by, until } };
};

const shown = ({ scope, reason, by, at, until }: Row): KillSwitch => ({ scope, reason, by, at, until });

/** How old what was read may be, and how long who needs it newer waits for it, milliseconds. */
const MOST_AGE_MS = 5_000;
const MAX_WAITED_MS = 1_000;

/**
 * What is switched off. Every process keeps all switches in memory, is told of changes and looks once a second besides. A process that could
 * not read them for five seconds lists and calls nothing.
 */
export const openKillSwitches = async (parts: {
  readonly database: Database;
  readonly change: Change;
  readonly log: Log;
  readonly now: () => Date;
}) => {
  const { database, change, now } = parts;
  let rows: readonly Row[] = [];
  let readAt = 0;
  const running = new Map<AbortController, Killable>();
  const subscribers = new Set<() => void>();

  const isNow = ({ until }: Row): boolean => until === null || Date.parse(until) > now().getTime();
  const inForce = (tenant: string, scopes: readonly string[]): Row | undefined =>
    rows.find((row) => row.tenant_id === tenant && (row.scope === "all" || scopes.includes(row.scope)) && isNow(row));
  const of = ({ caller, view, tool }: Killable): KillSwitch | undefined => {
    if (rows.length === 0 || tool.isBuiltIn) return undefined;
    return inForce(caller.tenant, [
      `view:${view.name}`,
      `system:${tool.provider}.${tool.instance}`,
      `tool:${tool.name}`,
      ...caller.actors,
      ...(caller.agent === undefined ? [] : [caller.agent]),
    ]);
  };
  const readNow = async (): Promise<void> => {
    const held = rows;
    const from = now().getTime();
    rows = await database.run(ALL);
    readAt = from;
    if (isDeepStrictEqual(held, rows)) return;
    for (const [stop, what] of running) if (of(what) !== undefined) stop.abort(new Problem("tool_disabled"));
    for (const changed of subscribers) changed();
  };
  // One look after the other: what was read earlier never takes the place of what was read later.
  let looking: Promise<void> = Promise.resolve();
  const look = (): Promise<void> => (looking = looking.then(readNow, readNow));
  const write = async (by: Writer, op: "killed" | "lifted", scope: string, work: (sql: TransactionSql) => Promise<Row | undefined>) => {
    const row = await change(async (sql) => {
      const result = await work(sql);
      if (result === undefined) throw new Problem("not_found");
      await sql.run(NOTIFY, [CHANNEL]);
      const { tenant, correlationId } = by;
      const { reason, until } = result;
      return {
        result,
        entries: [configEntry(by, op, { kind: "kill_switch", name: scope }, { reason, until })],
        events: [{ type: "kill.changed", tenant, stream: "config", kind: "tools", key: scope, data: { scope, op, reason }, correlationId }],
      };
    });
    await look();
    return shown(row);
  };

  await look();
  const following = await followChannel({
    database,
    channel: CHANNEL,
    look,
    failed: (cause) => parts.log.warn("kill_switches_unread", { cause }),
  });
  return {
    list: (tenant: string): readonly KillSwitch[] => rows.filter((row) => row.tenant_id === tenant && isNow(row)).map(shown),
    /** The switch that is in the way, if one is; nothing switches off what is built in. */
    of,
    /** The switch that keeps a whole system from a tenant. */
    ofSystem: (tenant: string, system: string): KillSwitch | undefined => {
      const found = inForce(tenant, [`system:${system}`]);
      return found && shown(found);
    },
    /** Throws `kill_switch_unknown` where the switches could not be read for too long: one may have been set since. */
    requireKnown: async (): Promise<void> => {
      const isKnown = (): boolean => Math.abs(now().getTime() - readAt) <= MOST_AGE_MS;
      if (isKnown()) return;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, MAX_WAITED_MS)));
      const unread = await Promise.race([look(), late]).catch((cause: unknown) => cause);
      clearTimeout(timer);
      if (!isKnown()) throw new Problem("kill_switch_unknown", { cause: unread });
    },
    /** Runs the work with a signal that is aborted as soon as a switch is in its way. */
    guard: async <T>(what: Killable, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
      const stop = new AbortController();
      running.set(stop, what);
      try {
        return await work(stop.signal);
      } finally {
        running.delete(stop);
      }
    },
    set: (by: Writer, scope: string, reason: string, until: string | undefined): Promise<KillSwitch> =>
      write(by, "killed", scope, async (sql) => (await sql.run(PUT, [by.tenant, scope, reason, by.subject, until ?? null]))[0]),
    /** Answers what was lifted. Throws `not_found`. */
    lift: (by: Writer, scope: string): Promise<KillSwitch> =>
      write(by, "lifted", scope, async (sql) => (await sql.run(LIFT, [by.tenant, scope]))[0]),
    /** Tells when other switches are in force, one that has ended by itself included. The returned function ends it. */
    subscribe: (changed: () => void): (() => void) => {
      subscribers.add(changed);
      return () => void subscribers.delete(changed);
    },
    [Symbol.asyncDispose]: (): PromiseLike<void> => following[Symbol.asyncDispose](),
  };
};
export type KillSwitches = Awaited<ReturnType<typeof openKillSwitches>>;
