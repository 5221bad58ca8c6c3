import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import type { GraphOp } from "#membership/graph/graph-op.ts";
import { identityKinds } from "#membership/graph/kinds.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { ADMINISTRATOR, PLATFORM } from "./house-roles.ts";
import { OPERATOR_TENANT, settleOperatorTenant } from "./operator-tenant.ts";

/**
 * What a writer may change of who holds a role: `platform` anything, for a holder of `role:platform` and the operator's own commands;
 * `assign` anything but that role, once the pair `roles/assign` is permitted to it; `provision` the same only through groups that such a
 * writer marked with `provisions_roles` (files, directories, claims of sign-ins); `none` nothing.
 */
export type RoleRight = "platform" | "assign" | "provision" | "none";

/** One altered row (id of a node or edge) that a refusal is about, and why. */
interface Blamed {
  readonly row: string;
  readonly why: string;
}

/** What a write would make of who holds a role must not be; whoever wrote many rows finds here which of them make it so. */
export class RoleFault extends Problem {
  readonly blamed: readonly Blamed[];
  constructor(code: "access_denied" | "last_administrator", blamed: readonly Blamed[]) {
    super(code, { detail: blamed[0]?.why });
    this.blamed = blamed;
  }
}

/** A write would change who holds a role, and its writer has no right to. */
export class RoleRefused extends RoleFault {
  constructor(blamed: readonly Blamed[]) {
    super("access_denied", blamed);
  }
}

const refusalOf = (role: string, at: string): string =>
  `${at} leads to ${role}: who holds a role is changed by who may do roles/assign, ` +
  "or through groups that are marked for it (provisions_roles).";

/** SQL: the group `n` is marked. */
export const marked = `(n.kind = 'Group' and (n.props ->> 'provisions_roles') is not distinct from 'true')`;

const PLATFORM_REFUSED = `Who holds ${PLATFORM} is changed by its holders alone, through no file, directory or claim.`;

/** Asked at every write: step by step over the index, also where tables grew since they were last counted and a join would read all edges. */
const LEADS = statement<{ role: string; start: string; marked: boolean }>(
  "membership.roles_above",
  `with recursive up(start, id, marked) as (
     select n.id, n.id, ${marked} from membership.node n where n.id = any($1)
     union
     select u.start, n.id, u.marked or ${marked} from up u cross join lateral (
       select e.dst from membership.edge e where e.src = u.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and ${unexpired("e")} offset 0) e
       join membership.node n on n.id = e.dst and n.state = 'active')
   select distinct u.start, u.id as role, u.marked from up u join membership.node n on n.id = u.id
   where n.kind = 'BusinessRole' and n.tenant_id is null order by 1, 2, 3`,
);
/** Those of the nodes that are not the operator's tenant's. */
const OUTSIDE = statement<{ id: string; tenant_id: string | null }>(
  "membership.roles_outside",
  `select n.id, n.tenant_id from membership.node n where n.id = any($1) and n.tenant_id is distinct from ${OPERATOR_TENANT} order by n.id`,
);
/**
 * One of the nodes that is not the operator's tenant's. Where there is no such tenant yet it becomes that of the nodes, if they are of one:
 * a graph that is put back into an empty store, or the first administrator.
 */
const outsider = async (sql: Sql, ids: readonly string[]): Promise<string | undefined> => {
  const [one, ...others] = await sql.run(OUTSIDE, [ids]);
  if (one === undefined) return undefined;
  const { id, tenant_id: tenant } = one;
  const isOne = tenant !== null && others.every((other) => other.tenant_id === tenant);
  return isOne && (await settleOperatorTenant(sql, tenant)) === tenant ? undefined : id;
};
const ACTING = statement<{ id: string }>(
  "membership.role_holder",
  `select n.id from membership.node n where n.id = $1 and n.state = 'active' and n.tenant_id = ${OPERATOR_TENANT}`,
);

/** Whether the identity may do the deployment's own acts. Cost: two statements. */
export const holdsPlatform = async (sql: Pick<Sql, "run">, id: string): Promise<boolean> =>
  (await sql.run(ACTING, [id])).length > 0 && (await sql.run(LEADS, [[id]])).some(({ role }) => role === PLATFORM);

/** Nobody comes to act as a holder of `role:platform` by an act of somebody who is none. Throws `access_denied`. */
export const requirePlatformFor = async (sql: Sql, writer: string, identity: string): Promise<void> => {
  if ((await holdsPlatform(sql, identity)) && !(await holdsPlatform(sql, writer)))
    throw new Problem("access_denied", { detail: PLATFORM_REFUSED });
};

const LOCK = statement(
  "membership.administrators_lock",
  "select pg_advisory_xact_lock(hashtextextended('membership.administrators.' || $1, 0))",
);
/** Persons who are administrators for good: whose way there has no end. */
const REMAINING = statement<{ one: number }>(
  "membership.administrators_remaining",
  `with recursive down(id, kind) as (
     select $1::text collate "C", 'BusinessRole' union
     select n.id, n.kind from down d join membership.edge e on e.dst = d.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and e.expires_at is null
       join membership.node n on n.id = e.src and n.state = 'active' and n.tenant_id = $2)
   select 1 as one from down where kind = 'Person' limit 1`,
);

const identities: ReadonlySet<string> = new Set(identityKinds);
const isActive = (row: GraphOp["before"]): boolean => row?.["state"] === "active";
const isMarked = (row: GraphOp["before"]): boolean =>
  row !== undefined && (row["props"] as Readonly<Record<string, unknown>> | undefined)?.["provisions_roles"] === true;

/** Rows by the node at which their way begins. Of so many as one answer tells of, each is kept. */
type RowsAt = Map<string, string[]>;
const MOST_BLAMED = 50;
const keep = (rows: RowsAt, start: string, row: string): void => {
  const held = rows.get(start);
  if (held === undefined) rows.set(start, [row]);
  else if (held.length < MOST_BLAMED) held.push(row);
};

/**
 * Looks at all that one write alters, whoever writes. A change of who holds a role shows where an edge that was written or dropped leads
 * to one, or a node that was switched over: whatever else changed on such a way shows by itself.
 */
export const createRoleWatch = () => {
  const starts: RowsAt = new Map();
  /** Where edges that are there now begin, by where they lead. */
  const sources = new Map<string, Set<string>>();
  /** Identities that were switched off: they keep their roles, which sleep with them. */
  const asleep = new Set<string>();
  const marks = new Set<string>();
  /** What was taken away in each tenant. */
  const losing = new Map<string, RowsAt>();

  const lose = ({ before, subject }: GraphOp, start: string): void => {
    const tenant = before?.["tenant_id"];
    if (typeof tenant !== "string") return;
    const lost = losing.get(tenant) ?? new Map<string, string[]>();
    losing.set(tenant, lost);
    keep(lost, start, subject);
  };
  return {
    note: (row: GraphOp): void => {
      const { kind, before, after, subject, src, dst } = row;
      if (dst !== undefined) {
        if (kind !== "MEMBER_OF" && kind !== "BELONGS_TO") return;
        keep(starts, dst, subject);
        if (after !== undefined && src !== undefined) sources.set(dst, (sources.get(dst) ?? new Set()).add(src));
        return lose(row, dst);
      }
      if (after === undefined) return;
      if (kind === "Group" && isMarked(before) !== isMarked(after)) marks.add(subject);
      if (before === undefined || isActive(before) === isActive(after)) return;
      if (isActive(before)) lose(row, subject);
      if (isActive(before) && identities.has(kind)) asleep.add(subject);
      else if (kind === "Group" || kind === "BusinessRole" || identities.has(kind)) keep(starts, subject, subject);
    },
    /** Throws `RoleRefused` (`access_denied`), and `last_administrator` where a tenant would have none left. Cost: nothing where no role is near. */
    require: async (sql: Sql, right: RoleRight): Promise<void> => {
      const ways = starts.size === 0 ? [] : await sql.run(LEADS, [[...starts.keys()]]);
      const rowsAt = (start: string, why: string): Blamed[] => (starts.get(start) ?? []).map((row) => ({ row, why }));
      if (right === "none" || right === "provision") {
        const blamed = [...marks].map((row) => ({ row, why: refusalOf("what may be provisioned", `The mark of ${row}`) }));
        for (const { role, start, marked: isProvisioned } of ways)
          if (right === "none" || !isProvisioned || role === PLATFORM) blamed.push(...rowsAt(start, refusalOf(role, start)));
        if (blamed.length > 0) throw new RoleRefused(blamed);
      }
      const platform = ways.filter(({ role }) => role === PLATFORM).map(({ start }) => start);
      if (platform.length > 0) {
        if (right !== "platform")
          throw new RoleFault(
            "access_denied",
            platform.flatMap((start) => rowsAt(start, PLATFORM_REFUSED)),
          );
        const lost = await outsider(
          sql,
          platform.flatMap((start) => [...(sources.get(start) ?? [])]),
        );
        if (lost !== undefined)
          throw new RoleFault(
            "access_denied",
            platform.flatMap((start) => rowsAt(start, `${PLATFORM} is held in the operator's tenant alone: not by ${lost}.`)),
          );
      }
      if (losing.size === 0) return;
      const slept = asleep.size === 0 ? [] : await sql.run(LEADS, [[...asleep]]);
      const touched = new Set([...ways, ...slept].filter(({ role }) => role === ADMINISTRATOR).map(({ start }) => start));
      for (const tenant of [...losing.keys()].sort()) {
        const lost = [...(losing.get(tenant) ?? [])].flatMap(([start, rows]) => (touched.has(start) ? rows : []));
        if (lost.length === 0) continue;
        await sql.run(LOCK, [tenant]);
        if ((await sql.run(REMAINING, [ADMINISTRATOR, tenant])).length > 0) continue;
        const why = `${tenant} would have no administrator left, or none without an end.`;
        const blamed = lost.map((row) => ({ row, why }));
        throw new RoleFault("last_administrator", blamed);
      }
    },
  };
};
