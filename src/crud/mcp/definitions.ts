import { createHash } from "node:crypto";
import { statement, type Sql } from "#store/database.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import type { Definition, Tool } from "#crud/tools/tool.ts";

type State = "proposed" | "approved" | "drifted" | "rejected";

/** A kept pin. Digests are bytes of SHA-256. */
export interface StoredDefinition {
  readonly tool: string;
  readonly system: string;
  readonly state: State;
  readonly approved_digest: Uint8Array | null;
  readonly served_digest: Uint8Array | null;
  readonly approved: Definition | null;
  readonly served: Definition | null;
  readonly since: string;
  readonly decided_by: string | null;
  readonly reason: string | null;
}

type Row = Pick<StoredDefinition, "tool" | "state" | "approved_digest" | "served_digest">;
type Waiting = Pick<StoredDefinition, "system" | "tool"> & { readonly served_digest: Uint8Array };

const OF_SYSTEM = statement<Row>(
  "crud.definitions_of_system",
  "select tool, state, approved_digest, served_digest from crud.tool_definition where system = $1 order by tool for update",
);
const FIRST = statement(
  "crud.definition_first",
  `insert into crud.tool_definition (tool, system, state, approved_digest, served_digest, approved, served, since, reason)
   select tool, $1, state, case when is_ok then served end, served, case when is_ok then definition end, definition, now(),
     case when is_ok then 'first seen' end
   from (select *, state = 'approved' as is_ok, decode(digest, 'hex') as served
     from jsonb_to_recordset($2::jsonb) as g(tool text, state text, digest text, definition jsonb)) as given
   on conflict (tool) do nothing`,
);
const SERVED = statement(
  "crud.definition_served",
  `update crud.tool_definition d set state = g.state, served_digest = decode(g.digest, 'hex'), served = g.definition, since = now()
   from jsonb_to_recordset($1::jsonb) as g(tool text, state text, digest text, definition jsonb) where d.tool = g.tool`,
);

const COLUMNS = "tool, system, state, approved_digest, served_digest, approved, served, since, decided_by, reason";
const MAX_LISTED = 500;
const LIST = statement<StoredDefinition>(
  "crud.definitions_list",
  `select ${COLUMNS} from crud.tool_definition where system = any($1::text[]) and ($2::text is null or state = $2) order by since, tool limit ${MAX_LISTED}`,
);
const ONE = statement<StoredDefinition>("crud.definition", `select ${COLUMNS} from crud.tool_definition where tool = $1`);
const STATES = statement<Row>(
  "crud.definition_states",
  "select tool, state, approved_digest, served_digest from crud.tool_definition where system = $1",
);
const APPROVE = statement<{ readonly tool: string }>(
  "crud.definition_approve",
  `update crud.tool_definition set state = 'approved', approved_digest = served_digest, approved = served, since = now(), decided_by = $3, reason = $4
   where tool = $1 and served_digest = $2 returning tool`,
);
const REJECT = statement<{ readonly tool: string }>(
  "crud.definition_reject",
  `update crud.tool_definition set state = 'rejected', since = now(), decided_by = $2, reason = $3
   where tool = $1 and state <> 'rejected' returning tool`,
);

/** What waits for its owner: served, and neither approved nor rejected. */
const WAITS = "state in ('proposed', 'drifted') and served_digest is not null";
const WAITING = statement<Waiting>(
  "crud.definitions_waiting",
  `select system, tool, served_digest from crud.tool_definition where system = any($1::text[]) and ${WAITS}`,
);
const APPROVE_WAITING = statement<Waiting>(
  "crud.definitions_approve_waiting",
  `update crud.tool_definition set state = 'approved', approved_digest = served_digest, approved = served, since = now(), decided_by = $2, reason = $3
   where system = $1 and ${WAITS} returning system, tool, served_digest`,
);

/** SHA-256, hex, over names and digests in the order of the names. */
const setDigest = (waiting: readonly Waiting[]): string =>
  createHash("sha256")
    .update(
      waiting
        .map(({ tool, served_digest: digest }) => `${tool} ${Buffer.from(digest).toString("hex")}\n`)
        .toSorted()
        .join(""),
    )
    .digest("hex");

/** How many of each of these systems wait, and the digest of them all. */
export const listWaiting = async (
  sql: Sql,
  systems: readonly string[],
): Promise<readonly { readonly system: string; readonly definitions: number; readonly digest: string }[]> =>
  [...Map.groupBy(await sql.run(WAITING, [systems]), ({ system }) => system)]
    .map(([system, waiting]) => ({ system, definitions: waiting.length, digest: setDigest(waiting) }))
    .toSorted((one, other) => (one.system < other.system ? -1 : 1));

/** All of a system that wait, with their digests; undefined, and to be taken back: they are not those of `digest`. */
export const approveWaiting = async (
  sql: Sql,
  asked: { readonly system: string; readonly digest: string; readonly by: string; readonly reason: string },
): Promise<readonly Waiting[] | undefined> => {
  const waiting = await sql.run(APPROVE_WAITING, [asked.system, asked.by, asked.reason]);
  return waiting.length > 0 && setDigest(waiting) === asked.digest ? waiting : undefined;
};

/** Of these systems, of one state or all, those that have waited longest first. */
export const listStored = (sql: Sql, systems: readonly string[], state: string | undefined): Promise<readonly StoredDefinition[]> =>
  sql.run(LIST, [systems, state ?? null]);
export const readStored = async (sql: Sql, tool: string): Promise<StoredDefinition | undefined> => (await sql.run(ONE, [tool]))[0];

/** False: the server serves another definition than `digest` by now, or it is rejected already. */
export const decideDefinition = async (
  sql: Sql,
  asked: {
    readonly tool: string;
    readonly to: "approved" | "rejected";
    readonly digest: string | undefined;
    readonly by: string;
    readonly reason: string;
  },
): Promise<boolean> => {
  const { tool, to, digest, by, reason } = asked;
  const rows =
    to === "approved" ? await sql.run(APPROVE, [tool, bytes(digest ?? ""), by, reason]) : await sql.run(REJECT, [tool, by, reason]);
  return rows.length > 0;
};

type Served = Pick<Tool, "name" | "digest" | "definition" | "tenants">;

const bytes = (hex: string): Uint8Array => Buffer.from(hex, "hex");
const isSame = (held: Uint8Array | null, hex: string): boolean => held !== null && Buffer.from(held).toString("hex") === hex;

/** The kept pins of external definitions. `tenants`: who hears of a tool that all share. */
export const createDefinitions = (parts: {
  readonly change: Change;
  readonly database: Sql;
  readonly tenants: () => Promise<readonly string[]>;
}) => ({
  /** Names of these tools that may not be served now, as they are kept; writes nothing. */
  refused: async (system: string, tools: readonly Served[]): Promise<ReadonlySet<string>> => {
    const held = new Map((await parts.database.run(STATES, [system])).map((row) => [row.tool, row]));
    const isRefused = ({ name, digest }: Served): boolean => {
      const row = held.get(name);
      return row === undefined || row.state === "rejected" || !isSame(row.approved_digest, digest);
    };
    return new Set(tools.filter(isRefused).map(({ name }) => name));
  },
  /**
   * Notes what an external system serves now; with `quarantineNew` what is new waits to be approved. One transaction with the events that
   * tell of it, of which each tenant gets one a state; none once the signal came. True: something is new or changed.
   * Cost: three statements, however many tools.
   */
  note: async (
    system: string,
    tools: readonly Served[],
    { quarantineNew, signal }: { readonly quarantineNew: boolean; readonly signal?: AbortSignal },
  ): Promise<boolean> => {
    const all = await parts.tenants();
    return parts.change(async (sql) => {
      const held = new Map((await sql.run(OF_SYSTEM, [system])).map((row) => [row.tool, row]));
      const changed = tools.flatMap(({ name: tool, digest, definition }) => {
        const row = held.get(tool);
        const stateNow = (): State => {
          if (row === undefined) return quarantineNew ? "proposed" : "approved";
          if (row.state !== "rejected" && isSame(row.approved_digest, digest)) return "approved";
          return row.approved_digest === null || row.state === "rejected" ? row.state : "drifted";
        };
        const state = stateNow();
        const isKnown = row !== undefined && isSame(row.served_digest, digest) && row.state === state;
        return isKnown ? [] : [{ tool, isNew: row === undefined, state, digest, definition }];
      });
      const [added, served] = [changed.filter(({ isNew }) => isNew), changed.filter(({ isNew }) => !isNew)];
      if (added.length > 0) await sql.run(FIRST, [system, JSON.stringify(added)]);
      if (served.length > 0) await sql.run(SERVED, [JSON.stringify(served)]);
      signal?.throwIfAborted();
      // All tools of a system are the same tenants'.
      const tenants = tools[0]?.tenants ?? all;
      const namesOf = (isApproved: boolean): readonly string[] =>
        changed.filter(({ state }) => (state === "approved") === isApproved).map(({ tool }) => tool);
      const drifted = definitionEvents(system, namesOf(false), { state: "drifted", tenants });
      return {
        result: changed.length > 0,
        events: [...definitionEvents(system, namesOf(true), { state: "approved", tenants }), ...drifted],
      };
    });
  },
});
export type Definitions = ReturnType<typeof createDefinitions>;

const MAX_NAMED = 50;

/** One for each tenant that sees the tools, if any: they are served again, or are not. Beyond 50 names, how many `more`. */
export const definitionEvents = (
  system: string,
  tools: readonly string[],
  { state, tenants }: { readonly state: State; readonly tenants: readonly string[] },
): readonly EventDraft[] =>
  (tools.length === 0 ? [] : tenants).map((tenant) => ({
    type: state === "approved" ? "tool.approved" : "tool.drifted",
    tenant,
    stream: "config",
    kind: "tools",
    key: `mcp:${system}`,
    data: {
      service: `mcp:${system}`,
      added: [],
      removed: [],
      changed: tools.slice(0, MAX_NAMED),
      ...(tools.length > MAX_NAMED ? { more: tools.length - MAX_NAMED } : {}),
      state: state === "approved" ? "approved" : "drifted",
    },
  }));
