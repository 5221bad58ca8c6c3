import { createHash } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { Problem } from "#contract/problem.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { statement, type Sql } from "#store/database.ts";
import { isSqlError } from "#store/sql-error.ts";
import { dropExpiredHolders, EDGE, type EdgeRow, type KeptEdge } from "./drop-edge.ts";
import { edgeKindRow, identityKinds, mayJoin, type EdgeKind, type NodeKind } from "#membership/model/kinds.ts";
import { recordPut, requireOutcomes, type Outcome, type RowsPut } from "./put-node.ts";
import { leadsBack } from "./rings.ts";
import { problemOfRows, type Place, type RowRefusal } from "./row-refusal.ts";
import { unexpired } from "./sql-parts.ts";
import { BUILT_IN_SYSTEM, mayWriteShared, wholeGraph, type TenantScope } from "./tenant-scope.ts";
import type { GraphTransaction } from "./write.ts";

export interface EdgeDraft {
  readonly kind: EdgeKind;
  readonly src: string;
  readonly dst: string;
  readonly discr?: string | undefined;
  readonly props?: Readonly<Record<string, unknown>> | undefined;
  /** Of a capability: digest of the definition that its owner approved; of a tool of a pinned service the one in force, unless given. */
  readonly digest?: string | undefined;
  readonly expires_at?: Date | undefined;
}

interface End {
  readonly id: string;
  readonly kind: NodeKind;
  readonly tenant_id: string | null;
  readonly system: string | null;
  readonly type: string | null;
  readonly resource_type: string | null;
  readonly scopes: readonly string[] | null;
  /** Of a tool of a pinned service: digest of the definition in force. */
  readonly pinned: string | null;
}

const COLUMNS = "id, kind, src, dst, discr, tenant_id, digest, props, expires_at";
const GIVEN = `jsonb_to_recordset($1::jsonb) as g(id text, kind text, src text, dst text, discr text, tenant_id text, digest text, props jsonb,
  expires_at timestamptz)`;
/** $2: tools of these ids are given. A service that the tool names counts where it is the tool's own tenant's, as one that provides it. */
const ENDS = statement<End>(
  "membership.edge_ends",
  `select n.id, n.kind, n.tenant_id, n.system, n.props ->> 'type' as type, n.props ->> 'resource_type' as resource_type, n.props -> 'scopes' as scopes,
     case when n.id = any($2) and exists (
       select 1 from membership.node s where s.kind = 'MCPService' and s.props ->> 'trust' = 'pinned' and s.tenant_id is not distinct from n.tenant_id
         and s.id = coalesce(n.props ->> 'service_id',
           (select p.src from membership.edge p where p.dst = n.id and p.kind = 'PROVIDES' and ${unexpired("p")})))
     then n.digest end as pinned
   from membership.node n where n.id = any($1) order by n.id for key share`,
);
/** What has ended is there for a draft that has ended too: else one file taken in twice would be two versions. */
const FIND = statement<KeptEdge>(
  "membership.edges_for_update",
  `select ${EDGE} from ${GIVEN} join membership.edge e on e.kind = g.kind and e.src = g.src and e.dst = g.dst and e.discr = g.discr
   where ${unexpired("e")} or g.expires_at <= now() order by e.id for update of e`,
);
const INSERT = statement<{ id: string }>(
  "membership.edges_insert",
  `insert into membership.edge (${COLUMNS}) select ${COLUMNS} from ${GIVEN} order by id on conflict do nothing returning id`,
);
const UPDATE = statement(
  "membership.edges_update",
  `update membership.edge e set digest = g.digest, props = g.props, expires_at = g.expires_at, rev = e.rev + 1 from ${GIVEN} where e.id = g.id`,
);

/** Edges other than delegations have an id made of what they join, so that writing one twice is writing one. */
export const edgeIdOf = (kind: string, src: string, dst: string, discr: string): string =>
  `edge:${createHash("sha256").update([kind, src, dst, discr].join("\n")).digest("hex").slice(0, 32)}`;

type Issue = Omit<RowRefusal, "at">;

/** What the two ends say of each other beyond their kinds. */
const fitFaults = (draft: EdgeDraft, to: End, roleType: End | undefined): readonly Issue[] => {
  const issue = (path: string, message: string): readonly Issue[] => [{ code: "unprocessable", path, message }];
  if (draft.kind === "HAS_RTR_AT") {
    if (roleType?.kind !== "RTR") return issue("/discr", "must be the id of an RTR that is there");
    if (to.kind === "Resource" && roleType.resource_type !== to.type)
      return issue("/discr", `is a role on ${roleType.resource_type}, and the resource is a ${to.type}`);
  } else if (draft.kind !== "DELEGATES_TO" && (draft.discr ?? "") !== "") return issue("/discr", `a ${draft.kind} has none`);
  if (draft.kind === "REQUIRES") {
    const beyond = ((draft.props?.["scopes"] ?? []) as readonly string[]).filter((scope) => to.scopes?.includes(scope) !== true);
    if (beyond.length > 0) return issue("/props/scopes", `the application has no ${beyond.join(", ")}`);
  }
  return [];
};

/** Why the ends may not be joined so by this writer. To a tenant what is another's is not there. */
const joinFaults = (scope: TenantScope, draft: EdgeDraft, ends: ReadonlyMap<string, End>): readonly Issue[] => {
  const see = (id: string): End | undefined => {
    const end = ends.get(id);
    return end === undefined || scope.tenant === "*" || end.tenant_id === null || end.tenant_id === scope.tenant ? end : undefined;
  };
  const [from, to] = [see(draft.src), see(draft.dst)];
  if (from === undefined || to === undefined || draft.src === draft.dst) {
    const path = from === undefined ? "/src" : "/dst";
    const lost = from === undefined ? draft.src : to === undefined ? draft.dst : undefined;
    const message = lost === undefined ? `${draft.kind} joins two different nodes, and these are one.` : `${lost} is not there.`;
    return [{ code: "unprocessable", path, message }];
  }
  const row = edgeKindRow(draft.kind);
  if (!mayJoin(draft.kind, from.kind, to.kind)) {
    const legal = row.pairs.map(([sources, targets]) => `${sources.join(", ")} -> ${targets.join(", ")}`);
    return [{ code: "edge_not_allowed", path: "/kind", message: `${from.kind} -> ${to.kind}. ${draft.kind} joins ${legal.join("; ")}.` }];
  }
  const isAcross = from.tenant_id !== null && to.tenant_id !== null && from.tenant_id !== to.tenant_id;
  if (isAcross || (row.sameTenant === true && from.tenant_id !== to.tenant_id))
    return [{ code: "cross_tenant", path: "/dst", message: `${draft.kind} does not leave the tenant.` }];
  if (scope.tenant !== "*" && from.tenant_id === null) {
    if (to.tenant_id === null && from.system === BUILT_IN_SYSTEM && to.system === BUILT_IN_SYSTEM)
      return [{ code: "access_denied", path: "/src", message: "What came with the deployment is joined by the deployment itself." }];
    if (to.tenant_id === null && !mayWriteShared(scope))
      return [
        { code: "access_denied", path: "/src", message: "What is shared is joined by who runs the deployment (role:platform) alone." },
      ];
    // Whatever a shared identity may do, or whoever has a shared role, is so for every tenant: none of them gives it rights.
    if (to.tenant_id !== null && row.fromShared !== true && (identityKinds.includes(from.kind) || from.kind === "BusinessRole"))
      return [{ code: "access_denied", path: "/src", message: "A shared identity or role is given nothing by one tenant." }];
  }
  const props = row.props.safeParse(draft.props ?? {});
  if (!props.success) return issuesOf(props.error, ["props"]).map(({ path, message }) => ({ code: "unprocessable", path, message }));
  return fitFaults(draft, to, draft.discr === undefined ? undefined : see(draft.discr));
};

const readEnds = async (sql: Sql, drafts: readonly EdgeDraft[]): Promise<ReadonlyMap<string, End>> => {
  const ids = new Set(drafts.flatMap(({ src, dst, discr }) => (discr === undefined ? [src, dst] : [src, dst, discr])));
  const given = new Set(drafts.filter(({ kind }) => kind === "HAS_CAPABILITY").map(({ dst }) => dst));
  return new Map((await sql.run(ENDS, [[...ids], [...given]])).map((end) => [end.id, end]));
};

const tenantOf = (draft: EdgeDraft, ends: ReadonlyMap<string, End>): string | null =>
  ends.get(draft.src)?.tenant_id ?? ends.get(draft.dst)?.tenant_id ?? null;

/** Checks that the two nodes may be joined so, and gives the tenant the edge belongs to (null between shared nodes). */
export const requireJoinable = async (sql: Sql, draft: EdgeDraft): Promise<string | null> => {
  const ends = await readEnds(sql, [draft]);
  const issues = joinFaults(wholeGraph, draft, ends);
  if (issues.length > 0) throw problemOfRows(issues.map((issue) => ({ at: 0, ...issue })));
  return tenantOf(draft, ends);
};

const HELD = "is taken: there is another one, where there can be only one";

/**
 * Writes edges as drafted; equal ones are left alone. No two drafts join the same. Not for DELEGATES_TO, whose rows are more than an edge.
 * Where anything is refused the caller must throw: some rows may be written. Throws `cycle`. Cost: five statements at most, whatever the
 * number, and two more of a kind that may close no ring.
 */
export const putEdges = async (tx: GraphTransaction, scope: TenantScope, drafts: readonly EdgeDraft[]): Promise<RowsPut> => {
  const ends = await readEnds(tx.sql, drafts);
  const refused: RowRefusal[] = drafts.flatMap((draft, at) => {
    if (draft.kind === "DELEGATES_TO")
      return [{ at, code: "edge_not_allowed" as const, path: "/kind", message: "Delegations are made at /api/v1/delegations." }];
    return joinFaults(scope, draft, ends).map((issue) => ({ at, ...issue }));
  });
  if (refused.length > 0) return { outcomes: [], refused };
  const wanted = drafts.map((draft): EdgeRow => {
    const { kind, src, dst, discr = "" } = draft;
    return {
      id: edgeIdOf(kind, src, dst, discr),
      kind,
      src,
      dst,
      discr,
      tenant_id: tenantOf(draft, ends),
      // Whoever gives a tool gives it as it is now.
      digest: draft.digest ?? (kind === "HAS_CAPABILITY" ? ends.get(dst)?.pinned : null) ?? null,
      props: draft.props ?? {},
      expires_at: draft.expires_at?.toISOString() ?? null,
    };
  });
  const held = new Map(
    (await tx.sql.run(FIND, [JSON.stringify(wanted)])).map((row) => [edgeIdOf(row.kind, row.src, row.dst, row.discr), row]),
  );
  const rows = wanted.map((row, at) => {
    const found = held.get(row.id);
    const { rev = 0n, ...before } = found ?? {};
    const after = { ...row, id: found?.id ?? row.id };
    const outcome: Outcome = found === undefined ? "new" : canonicalJson(before) === canonicalJson(after) ? "same" : "changed";
    return { at, rev, before, after, outcome };
  });
  const given = (outcome: Outcome): EdgeRow[] => rows.filter((row) => row.outcome === outcome).map(({ after }) => after);
  const [fresh, altered] = [given("new"), given("changed")];
  await leadsBack.lock(tx.sql, fresh);
  if (fresh.length > 0) {
    const insert = async (edges: readonly EdgeRow[]): Promise<ReadonlySet<string>> =>
      new Set((await tx.sql.run(INSERT, [JSON.stringify(edges)])).map(({ id }) => id));
    const inserted = await insert(fresh);
    const left = fresh.filter(({ id }) => !inserted.has(id));
    // What has expired counts as absent: it keeps nobody's place, its own neither.
    const late = left.length > 0 && (await dropExpiredHolders(tx, left, altered)) > 0 ? await insert(left) : new Set();
    for (const { at, after, outcome } of rows)
      if (outcome === "new" && !inserted.has(after.id) && !late.has(after.id))
        refused.push({ at, code: "already_exists", path: "/", message: HELD });
  }
  if (altered.length > 0 && refused.length === 0) {
    await dropExpiredHolders(tx, altered, altered);
    await tx.sql.run(UPDATE, [JSON.stringify(altered)]).catch((error: unknown) => {
      throw isSqlError(error, "23505") ? new Problem("already_exists", { detail: HELD }) : error;
    });
  }
  if (refused.length === 0) await leadsBack.require(tx.sql, fresh);
  for (const row of rows) recordPut(tx, "put_edge", row, { src: row.after.src, dst: row.after.dst });
  return { outcomes: rows.map(({ outcome }) => outcome), refused };
};

/** Writes one edge. Throws `unprocessable`, `edge_not_allowed`, `cross_tenant`, `access_denied`, `already_exists`, `cycle`. */
export const putEdge = async (tx: GraphTransaction, draft: EdgeDraft, scope: TenantScope = wholeGraph, place?: Place): Promise<Outcome> =>
  requireOutcomes(await putEdges(tx, scope, [draft]), place)[0] ?? "same";
