import { createHash } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { Problem } from "#contract/problem.ts";
import { createYielding } from "#http/yielding.ts";
import { statement, type Database, type Sql } from "#store/database.ts";
import type { EdgeRow } from "#membership/graph/drop-edge.ts";
import type { NodeRow } from "#membership/graph/put-node.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import { csvLine } from "./csv.ts";
import { csvColumns, type CsvFile } from "./csv-lines.ts";

export interface ExportAsk {
  readonly csv: CsvFile | undefined;
  /** Kinds of nodes and edges; empty = all. */
  readonly kinds: readonly string[];
}

const PAGE = 500;
/** Of others between two rows: one may be long, and there may be very many. */
const turn = createYielding(10);
const own = (row: string): string => `($1::text = '*' or ${row}.tenant_id = $1::text)`;
const HEAD = statement<{ version: bigint }>("membership.export_head", "select version from membership.graph_head");
const NODES = statement<NodeRow>(
  "membership.export_nodes",
  `select n.id, n.kind, n.tenant_id, n.name, n.display_name, n.system, n.state, n.external_id, n.digest, n.props from membership.node n
   where ${own("n")} and n.id > $2 and (cardinality($3::text[]) = 0 or n.kind = any($3::text[])) order by n.id limit ${PAGE}`,
);
const EDGES = statement<EdgeRow>(
  "membership.export_edges",
  `select e.id, e.kind, e.src, e.dst, e.discr, e.tenant_id, e.digest, e.props, e.expires_at from membership.edge e
   where ${own("e")} and e.kind <> 'DELEGATES_TO' and e.id > $2 and (cardinality($3::text[]) = 0 or e.kind = any($3::text[]))
   order by e.id limit ${PAGE}`,
);

const isEmpty = (value: unknown): boolean =>
  value === null || value === "" || (typeof value === "object" && !Array.isArray(value) && Object.keys(value as object).length === 0);
/** Members that say something: what is left out is what an import takes in its place. */
const said = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([name, value]) => name === "tenant_id" || !isEmpty(value)));

/** Of a tenant's own export the tenant is left out, so that another instance's tenant may take it in. */
const nodeMembers = ({ tenant_id, ...row }: NodeRow, isWhole: boolean): Record<string, unknown> =>
  said(isWhole ? { ...row, tenant_id } : row);
const edgeMembers = ({ id: _id, tenant_id: _tenant, ...row }: EdgeRow): Record<string, unknown> => said(row);

async function* pages<Row extends { readonly id: string }>(
  read: (after: string) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let after = ""; ;) {
    const rows = await read(after);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return;
    after = last.id;
  }
}

const lineOf = (members: object): string => `${canonicalJson(members) ?? ""}\n`;

const PART_CHARACTERS = 65_536;

/** A file as it is made, line by line; `flush` makes all lines so far parts of it. */
const createFile = () => {
  const parts: Buffer[] = [];
  const digest = createHash("sha256");
  let text = "";
  const flush = (): void => {
    const part = Buffer.from(text);
    digest.update(part);
    parts.push(part);
    text = "";
  };
  const add = (line: string): ReturnType<typeof turn> => {
    text += line;
    if (text.length > PART_CHARACTERS) flush();
    return turn();
  };
  return { parts, digest, flush, add };
};

const readAll = async (sql: Sql, scope: TenantScope, ask: ExportAsk): Promise<readonly Buffer[]> => {
  const isWhole = scope.tenant === "*";
  const nodes = (): AsyncGenerator<readonly NodeRow[]> => pages((after) => sql.run(NODES, [scope.tenant, after, ask.kinds]));
  const edges = (): AsyncGenerator<readonly EdgeRow[]> => pages((after) => sql.run(EDGES, [scope.tenant, after, ask.kinds]));
  if (ask.csv !== undefined) {
    const rows: Record<string, unknown>[] = [];
    if (ask.csv === "nodes") for await (const page of nodes()) rows.push(...page.map((row) => nodeMembers(row, isWhole)));
    else for await (const page of edges()) rows.push(...page.map(edgeMembers));
    return asCsv(ask.csv, rows);
  }
  const file = createFile();
  const counts = { nodes: 0, edges: 0 };
  for await (const page of nodes()) {
    counts.nodes += page.length;
    for (const row of page) await file.add(lineOf({ node: nodeMembers(row, isWhole) }));
  }
  for await (const page of edges()) {
    counts.edges += page.length;
    for (const row of page) await file.add(lineOf({ edge: edgeMembers(row) }));
  }
  file.flush();
  return [...file.parts, Buffer.from(lineOf({ end: { ...counts, sha256: file.digest.digest("hex") } }))];
};

const asCsv = async (file: CsvFile, rows: readonly Readonly<Record<string, unknown>>[]): Promise<readonly Buffer[]> => {
  const props = (row: Readonly<Record<string, unknown>>) => (row["props"] ?? {}) as Readonly<Record<string, unknown>>;
  const named = new Set<string>();
  for (const row of rows) {
    for (const name of Object.keys(props(row))) named.add(name);
    await turn();
  }
  const names = [...named].sort();
  const text = (value: unknown): string =>
    value === undefined || value === null ? "" : typeof value === "string" ? value : (canonicalJson(value) ?? "");
  const columns = csvColumns[file].filter((name) => name !== "tenant_id" || rows.some((row) => row[name] !== undefined));
  const made = createFile();
  await made.add(csvLine([...columns, ...names.map((name) => `props.${name}`)]));
  for (const row of rows)
    await made.add(csvLine([...columns.map((name) => text(row[name])), ...names.map((name) => text(props(row)[name]))]));
  made.flush();
  return made.parts;
};

const MAX_TRIES = 5;

/**
 * The scope's own nodes and edges, true at one version; delegations are acts of their delegators and are not among them. It is read
 * page by page without holding anybody up, and anew where somebody wrote meanwhile. Throws `graph_busy` when that never ends.
 */
export const exportGraph = async (
  database: Database,
  scope: TenantScope,
  ask: ExportAsk,
): Promise<{ readonly version: bigint; readonly parts: readonly Buffer[] }> => {
  const head = async (): Promise<bigint> => (await database.run(HEAD))[0]?.version ?? 0n;
  for (let tried = 0; tried < MAX_TRIES; tried++) {
    const version = await head();
    const parts = await readAll(database, scope, ask);
    if ((await head()) === version) return { version, parts };
  }
  // One snapshot needs no quiet where others are served beside it; on the embedded database it would stop them all.
  if (database.kind === "pglite") throw new Problem("graph_busy", { headers: { "retry-after": "5" } });
  return database.transaction(
    async (sql) => {
      const [row] = await sql.run(HEAD);
      return { version: row?.version ?? 0n, parts: await readAll(sql, scope, ask) };
    },
    { isolation: "repeatable read", readOnly: true },
  );
};
