import { createHash } from "node:crypto";
import { statement, type Sql } from "#store/database.ts";
import type { Change } from "#events/change.ts";
import type { EventDraft } from "#events/event-draft.ts";
import type { Definition, Tool } from "./tool.ts";

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
  `insert into crud.tool_definition (tool, system, state, approved_digest, served_digest, approved, served, since, decided_by, reason)
   values ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb, now(), $8, $9) on conflict (tool) do nothing`,
);
const SERVED = statement(
  "crud.definition_served",
  "update crud.tool_definition set state = $2, served_digest = $3, served = $4::jsonb, since = now() where tool = $1",
);

const COLUMNS = "tool, system, state, approved_digest, served_digest, approved, served, since, decided_by, reason";
const MOST_LISTED = 500;
const LIST = statement<StoredDefinition>(
  "crud.definitions_list",
  `select ${COLUMNS} from crud.tool_definition where system = any($1::text[]) and ($2::text is null or state = $2) order by since, tool limit ${MOST_LISTED}`,
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
   * tell of it.
   */
  note: async (system: string, tools: readonly Served[], quarantineNew: boolean): Promise<void> => {
    const all = await parts.tenants();
    return parts.change(async (sql) => {
      const held = new Map((await sql.run(OF_SYSTEM, [system])).map((row) => [row.tool, row]));
      const told: { tool: Served; state: State }[] = [];
      for (const tool of tools) {
        const row = held.get(tool.name);
        const text = JSON.stringify(tool.definition);
        if (row === undefined) {
          const state: State = quarantineNew ? "proposed" : "approved";
          const [digest, definition] = quarantineNew ? [null, null] : [bytes(tool.digest), text];
          const reason = quarantineNew ? null : "first seen";
          await sql.run(FIRST, [tool.name, system, state, digest, bytes(tool.digest), definition, text, null, reason]);
          told.push({ tool, state });
          continue;
        }
        const isApproved = row.state !== "rejected" && isSame(row.approved_digest, tool.digest);
        const state: State = isApproved ? "approved" : row.approved_digest === null || row.state === "rejected" ? row.state : "drifted";
        if (isSame(row.served_digest, tool.digest) && row.state === state) continue;
        await sql.run(SERVED, [tool.name, state, bytes(tool.digest), text]);
        told.push({ tool, state });
      }
      return {
        result: undefined,
        events: told.flatMap(({ tool, state }) => definitionEvents(system, tool.name, state, tool.tenants ?? all)),
      };
    });
  },
});
export type Definitions = ReturnType<typeof createDefinitions>;

/** Told to all who see the tool: it is served again, or is not. */
export const definitionEvents = (system: string, tool: string, state: State, tenants: readonly string[]): readonly EventDraft[] =>
  tenants.map((tenant) => ({
    type: state === "approved" ? "tool.approved" : "tool.drifted",
    tenant,
    stream: "config",
    kind: "tools",
    key: tool,
    data: { service: `mcp:${system}`, added: [], removed: [], changed: [tool], state: state === "approved" ? "approved" : "drifted" },
  }));
