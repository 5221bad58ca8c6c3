import { foldText } from "#contract/fold-text.ts";
import { canonicalJson } from "#contract/canonical-json.ts";
import { isRoleId, nodeId } from "#contract/ids.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { statement, type Sql } from "#store/database.ts";
import { isSqlError } from "#store/sql-error.ts";
import { nodeKindRow, statesOf, type NodeKind } from "#membership/model/kinds.ts";
import { problemOfRows, type Place, type RowRefusal } from "./row-refusal.ts";
import { BUILT_IN_SYSTEM, mayWriteShared, wholeGraph, type TenantScope } from "./tenant-scope.ts";
import type { GraphTransaction } from "./write.ts";

export interface NodeDraft {
  readonly id: string;
  readonly kind: NodeKind;
  readonly name: string;
  readonly display_name?: string | undefined;
  /** `null`: of none. Absent: of none either, unless a directory made it (SCIM): that goes on managing it. */
  readonly system?: string | null | undefined;
  /** Unless given, the one that it has; of a new node the kind's first (`active`, of tools `approved`). */
  readonly state?: string | undefined;
  readonly external_id?: string | undefined;
  /** null = shared by all tenants; only some kinds may be. */
  readonly tenant_id: string | null;
  /** Of a tool, resource or prompt: digest of the definition in force. */
  readonly digest?: string | undefined;
  readonly props?: Readonly<Record<string, unknown>> | undefined;
}

/** A node as it is kept, without its times. */
export interface NodeRow {
  readonly id: string;
  readonly kind: NodeKind;
  readonly tenant_id: string | null;
  readonly name: string;
  readonly display_name: string | null;
  readonly system: string | null;
  readonly state: string;
  readonly external_id: string | null;
  readonly digest: string | null;
  readonly props: Readonly<Record<string, unknown>>;
}

/** The members that say something: neither null nor absent. */
export const present = <T extends object>(members: T): Partial<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined)) as Partial<T>;

export type KeptNode = NodeRow & { readonly rev: bigint };

const COLUMNS = "id, kind, tenant_id, name, display_name, system, state, external_id, digest, props";
const GIVEN = `jsonb_to_recordset($1::jsonb) as g(id text, kind text, tenant_id text, name text, display_name text, system text, state text,
  external_id text, digest text, props jsonb, fold text)`;
const FIND = statement<KeptNode>(
  "membership.nodes_for_update",
  `select ${COLUMNS}, rev from membership.node where id = any($1) order by id for update`,
);
const INSERT = statement<{ id: string }>(
  "membership.nodes_insert",
  `insert into membership.node (${COLUMNS}, fold) select ${COLUMNS}, fold from ${GIVEN} order by id on conflict do nothing returning id`,
);
const UPDATE = statement(
  "membership.nodes_update",
  `update membership.node n set name = g.name, display_name = g.display_name, system = g.system, state = g.state, tenant_id = g.tenant_id,
     external_id = g.external_id, digest = g.digest, props = g.props, fold = g.fold, rev = n.rev + 1, updated_at = now()
   from ${GIVEN} where n.id = g.id`,
);

/** A search compares its words with all of it: a field folds to no more than itself, or than a short one may. */
const MOST_FOLDED = 256;
const foldField = (field: string): string => foldText(field).slice(0, Math.max(MOST_FOLDED, field.length)).toWellFormed();

const foldOf = (row: NodeRow): string => {
  const searched = (nodeKindRow(row.kind).searched ?? []).map((name) => row.props[name]);
  return [row.id, row.name, row.display_name, ...searched, row.external_id]
    .filter((field): field is string => typeof field === "string" && field !== "")
    .map(foldField)
    .join("\u001f");
};

const SCIM = "scim";
const TAKEN = "is taken: the id, or what must be the only one (external id, service name, audience)";

const draftIssues = (draft: NodeDraft): readonly Omit<RowRefusal, "at">[] => {
  const row = nodeKindRow(draft.kind);
  const issues: Omit<RowRefusal, "at">[] = [];
  const issue = (path: string, message: string): void => void issues.push({ code: "unprocessable", path, message });
  if (!nodeId.safeParse(draft.id).success) issue("/id", "is not an id");
  for (const name of ["name", "display_name", "system", "external_id", "digest"] as const) {
    const max = name === "system" ? 64 : name === "external_id" ? 1024 : 256;
    const value = draft[name];
    if (value !== undefined && value !== null && (value === "" || value.length > max || /\p{Cc}/u.test(value) || !value.isWellFormed()))
      issue(`/${name}`, `is empty, longer than ${max}, or holds a control character`);
  }
  if (draft.state !== undefined && !statesOf(draft.kind).includes(draft.state))
    issue("/state", `must be one of ${statesOf(draft.kind).join(", ")}`);
  if (draft.tenant_id === null && row.shared !== true) issue("/tenant_id", `a ${draft.kind} belongs to a tenant`);
  // The rows that a member of a tenant sees are named by the tenant's id: no tenant may make itself another one's.
  if (draft.kind === "Tenant" && draft.id !== draft.tenant_id) issue("/id", "a tenant's node has the tenant's own id");
  // Policies know a role by the beginning of its id: nothing else may pass for one.
  if (isRoleId(draft.id) && draft.kind !== "BusinessRole") issue("/id", "begins as the id of a BusinessRole");
  const props = row.props.safeParse(draft.props ?? {});
  if (!props.success) for (const { path, message } of issuesOf(props.error, ["props"])) issue(path, message);
  return issues;
};

/**
 * What keeps somebody out stays unless a draft names it: the state of a node, the system of what a directory made, without which the
 * directory could not switch it off, and the client that an agent is, which would pass for a person otherwise.
 */
const rowOf = (draft: NodeDraft, held: NodeRow | undefined): NodeRow => ({
  id: draft.id,
  kind: draft.kind,
  tenant_id: draft.tenant_id,
  name: draft.name,
  display_name: draft.display_name ?? null,
  system: (draft.system === undefined && held?.system === SCIM ? SCIM : draft.system) ?? null,
  state: draft.state ?? held?.state ?? statesOf(draft.kind)[0] ?? "active",
  external_id: draft.external_id ?? null,
  digest: draft.digest ?? null,
  props: { ...(held?.kind === "AIAgent" ? present({ client_id: held.props["client_id"] }) : {}), ...draft.props },
});

export type Outcome = "new" | "changed" | "same";

export interface RowsPut {
  /** What became of each row given; of no meaning where anything was refused. */
  readonly outcomes: readonly Outcome[];
  readonly refused: readonly RowRefusal[];
}

/** What became of the rows, where none of them was refused. Throws one problem of all that were. */
export const requireOutcomes = ({ outcomes, refused }: RowsPut, place?: Place): readonly Outcome[] => {
  if (refused.length > 0) throw problemOfRows(refused, place);
  return outcomes;
};

/** Puts a row that was written into the version, after what it was; `ends` of an edge. */
export const recordPut = (
  tx: GraphTransaction,
  op: "put_node" | "put_edge",
  row: {
    readonly rev: bigint;
    readonly before: object;
    readonly after: Pick<NodeRow, "id"> & { readonly kind: string };
    readonly outcome: Outcome;
  },
  ends: { readonly src?: string; readonly dst?: string } = {},
): void => {
  const { rev, after, outcome } = row;
  if (outcome === "same") return;
  const before = outcome === "new" ? {} : { before: { ...row.before, rev: Number(rev) } };
  tx.record({ op, subject: after.id, kind: after.kind, ...ends, ...before, after: { ...after, rev: Number(rev) + 1 } });
};

/** Locks nodes and gives them as they are, by id; all of the graph, so whoever asks looks at their tenants. */
export const lockNodes = async (sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, KeptNode>> =>
  new Map((await sql.run(FIND, [ids])).map((row) => [row.id, row]));

/** How ids of a tenant's services begin, and of shared ones. */
export const servicePrefix = (tenant: string | null): string => `mcp:${tenant === null ? "" : `${tenant.replace(/^tenant:/, "")}.`}`;

/** `provider.instance.base`, as the tool server names the tools of a system. */
const TOOL_NAME = /^[a-z][a-z0-9-]{0,24}\.[a-z][a-z0-9-]{0,24}\.[A-Za-z][A-Za-z0-9_-]*$/;

/** An id of the service that a published system becomes. */
const SYSTEM_ID = /^mcp:(?:.+\.)?[a-z][a-z0-9-]{0,24}\.[a-z][a-z0-9-]{0,24}$/;

/** Why a writer may not give this id. Ids are one for all tenants: what a tenant's system or service is to be called no other takes before it. */
const nameRefusal = ({ tenant, names }: TenantScope, draft: NodeDraft, held: NodeRow | undefined): Omit<RowRefusal, "at"> | undefined => {
  const isOwn = held?.tenant_id === tenant && !(held.kind === "Tool" && held.state === "retired" && draft.state !== "retired");
  if (names === undefined || tenant === "*" || draft.tenant_id !== tenant || isOwn) return undefined;
  if (names === "others" && TOOL_NAME.test(draft.id))
    return { code: "access_denied", path: "/id", message: "is the name of a tool of a system: publishing that system registers it" };
  if (SYSTEM_ID.test(draft.id) && !draft.id.startsWith(servicePrefix(tenant)))
    return {
      code: "access_denied",
      path: "/id",
      message: `is no id of a service of this tenant: those begin with ${servicePrefix(tenant)}`,
    };
  return undefined;
};

/** Why a writer may not have this draft take the place of what is there. Of another tenant's node only that the id is taken. */
const placeRefusal = (scope: TenantScope, draft: NodeDraft, held: NodeRow | undefined): Omit<RowRefusal, "at"> | undefined => {
  const isShared = draft.tenant_id === null && mayWriteShared(scope);
  if (scope.tenant !== "*" && draft.tenant_id !== scope.tenant && !isShared)
    return { code: "access_denied", path: "/tenant_id", message: "must be the caller's own tenant" };
  // A client is an agent wherever its tokens are shown, in every tenant: none of them makes another's sign-in an agent's.
  const clientId = draft.kind === "AIAgent" ? draft.props?.["client_id"] : undefined;
  const isOwnClient =
    clientId === undefined || clientId === held?.props["client_id"] || (clientId === draft.id && draft.id.startsWith("agent:"));
  if (scope.tenant !== "*" && !isOwnClient)
    return {
      code: "access_denied",
      path: "/props/client_id",
      message: "an agent's client is its own id, agent:...; another is the operator's to name",
    };
  const named = nameRefusal(scope, draft, held);
  if (named !== undefined || held === undefined) return named;
  if (scope.tenant !== "*" && held.tenant_id !== scope.tenant && !(isShared && held.tenant_id === null && held.system !== BUILT_IN_SYSTEM))
    return { code: "already_exists", path: "/id", message: "is taken, and not by this tenant" };
  if (held.kind !== draft.kind) return { code: "conflict", path: "/kind", message: `a node keeps its kind: this one is a ${held.kind}` };
  if (held.tenant_id !== draft.tenant_id) return { code: "conflict", path: "/tenant_id", message: "a node keeps its tenant" };
  return undefined;
};

/**
 * Writes nodes as drafted, each of it whole; equal ones are left alone. No two drafts have the same id. Where anything is refused the
 * caller must throw: some rows may be written. Cost: three statements, whatever the number.
 */
export const putNodes = async (tx: GraphTransaction, scope: TenantScope, drafts: readonly NodeDraft[]): Promise<RowsPut> => {
  const refused: RowRefusal[] = drafts.flatMap((draft, at) => draftIssues(draft).map((issue) => ({ at, ...issue })));
  if (refused.length > 0) return { outcomes: [], refused };
  const ids = drafts.map(({ id }) => id);
  const held = await lockNodes(tx.sql, ids);
  const rows = drafts.map((draft, at) => {
    const found = held.get(draft.id);
    const refusal = placeRefusal(scope, draft, found);
    if (refusal !== undefined) refused.push({ at, ...refusal });
    const { rev = 0n, ...before } = found ?? {};
    const after = rowOf(draft, found);
    const outcome: Outcome = found === undefined ? "new" : canonicalJson(before) === canonicalJson(after) ? "same" : "changed";
    return { at, rev, before, after, outcome };
  });
  if (refused.length > 0) return { outcomes: [], refused };
  const given = (wanted: Outcome): string =>
    JSON.stringify(rows.filter(({ outcome }) => outcome === wanted).map(({ after }) => ({ ...after, fold: foldOf(after) })));
  const has = (wanted: Outcome): boolean => rows.some(({ outcome }) => outcome === wanted);
  if (has("new")) {
    const inserted = new Set((await tx.sql.run(INSERT, [given("new")])).map(({ id }) => id));
    for (const { at, after, outcome } of rows)
      if (outcome === "new" && !inserted.has(after.id)) refused.push({ at, code: "already_exists", path: "/id", message: TAKEN });
  }
  if (has("changed") && refused.length === 0)
    await tx.sql.run(UPDATE, [given("changed")]).catch((error: unknown) => {
      if (!isSqlError(error, "23505")) throw error;
      const at = rows.findIndex(({ outcome }) => outcome === "changed");
      throw problemOfRows([{ at, code: "already_exists", path: "/", message: TAKEN }]);
    });
  for (const row of rows) recordPut(tx, "put_node", row);
  return { outcomes: rows.map(({ outcome }) => outcome), refused };
};

/** Writes one node. Throws `unprocessable` with every issue, `already_exists`, `conflict`, `access_denied`. */
export const putNode = async (tx: GraphTransaction, draft: NodeDraft, scope: TenantScope = wholeGraph): Promise<Outcome> =>
  requireOutcomes(await putNodes(tx, scope, [draft]))[0] ?? "same";
