import { Problem } from "#contract/problem.ts";
import { statement, type Sql } from "#store/database.ts";
import type { GraphOp } from "#membership/graph/graph-op.ts";
import { identityKinds } from "#membership/model/kinds.ts";
import { unexpired } from "#membership/graph/sql-parts.ts";
import { ADMINISTRATOR, PLATFORM } from "./built-in-roles.ts";
import { OPERATOR_TENANT, settleOperatorTenant } from "./operator-tenant.ts";
import { readLacking, readShutOut, type SignInWays } from "./remaining-holders.ts";

/**
 * What a writer may change of who holds a role: `platform` anything, for a holder of `role:platform` and the operator's own commands;
 * `assign` anything but that role, once the pair `roles/assign` is permitted to it; `provision` the same only through groups that such a
 * writer marked with `provisions_roles` (files, claims of sign-ins); `directory` that, and it switches off who holds one: an identity
 * provider's word on who is still there; `none` nothing.
 */
export type RoleRight = "platform" | "assign" | "directory" | "provision" | "none";

/** One altered row (id of a node or edge) that a refusal is about, and why. */
interface Blamed {
  readonly row: string;
  readonly why: string;
}

/** What a write would make of who holds a role must not be; whoever wrote many rows finds here which of them make it so. */
export class RoleError extends Problem {
  readonly blamed: readonly Blamed[];
  constructor(code: "access_denied" | "last_administrator", blamed: readonly Blamed[]) {
    super(code, { detail: blamed[0]?.why });
    this.blamed = blamed;
  }
}

/** A write would change who holds a role, and its writer has no right to. */
export class RoleRefused extends RoleError {
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

/** Of those who may do the deployment's own acts nobody is switched off by somebody who may not. */
const SHUT_OUT_REFUSED = `A holder of ${PLATFORM} is switched off, or loses a sign-in or the way in, by holders of that role alone.`;

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

/** Whether the identity, an active one of the operator's tenant, holds the role by any way. Cost: two statements. */
export const holdsThere = async (sql: Pick<Sql, "run">, id: string, wanted: string): Promise<boolean> =>
  (await sql.run(ACTING, [id])).length > 0 && (await sql.run(LEADS, [[id]])).some(({ role }) => role === wanted);

/** Whether the identity may do the deployment's own acts. Cost: two statements. */
export const holdsPlatform = (sql: Pick<Sql, "run">, id: string): Promise<boolean> => holdsThere(sql, id, PLATFORM);

/** Nobody comes to act as a holder of `role:platform` by an act of somebody who is none. Throws `access_denied`. */
export const requirePlatformFor = async (sql: Sql, writer: string, identity: string): Promise<void> => {
  if ((await holdsPlatform(sql, identity)) && !(await holdsPlatform(sql, writer)))
    throw new Problem("access_denied", { detail: PLATFORM_REFUSED });
};

const key = "hashtextextended('membership.administrators.' || $1, 0)";
const LOCK = statement("membership.administrators_lock", `select pg_advisory_xact_lock(${key})`);
const SHARE = statement("membership.administrators_share", `select pg_advisory_xact_lock_shared(${key})`);
/** $1 nodes, each also as the owners of the account that it is: roles that they lead to. */
const NEAR = statement<{ start: string }>(
  "membership.roles_near",
  `with recursive up(start, id) as (
     select n.id, n.id from membership.node n where n.id = any($1)
     union
     select e.dst, e.src from membership.edge e where e.kind = 'BELONGS_TO' and e.dst = any($1) and ${unexpired("e")}
     union
     select u.start, n.id from up u cross join lateral (
       select e.dst from membership.edge e where e.src = u.id and e.kind in ('BELONGS_TO', 'MEMBER_OF') and ${unexpired("e")} offset 0) e
       join membership.node n on n.id = e.dst and n.state = 'active')
   select distinct u.start from up u where u.id = any($2) order by 1`,
);

const identities: ReadonlySet<string> = new Set(identityKinds);
const isActive = (row: GraphOp["before"]): boolean => row?.["state"] === "active";
const isMarked = (row: GraphOp["before"]): boolean =>
  row !== undefined && (row["props"] as Readonly<Record<string, unknown>> | undefined)?.["provisions_roles"] === true;

/** Rows by the node at which their way begins. Of so many as one answer tells of, each is kept. */
type RowsAt<Row> = Map<string, Row[]>;
const MOST_BLAMED = 50;
/** Of more places than these nobody looks who is near: the question is asked at once. */
const MOST_SOUGHT = 1_000;
const keep = <Row>(rows: RowsAt<Row>, start: string, row: Row): void => {
  const held = rows.get(start);
  if (held === undefined) rows.set(start, [row]);
  else if (held.length < MOST_BLAMED) held.push(row);
};

/** Something that was taken away, in words. */
interface Loss {
  readonly row: string;
  readonly what: string;
}
/** Where what belongs to the tenant itself is lost: it may be on anybody's way. */
const TENANT = "";
/** Kinds over which an account is in its tenant, whatever role they lead to. */
const isWayIn: ReadonlySet<string> = new Set(["Tenant", "Group", "BusinessRole"]);

const endOf = (row: GraphOp["before"]): number => {
  const end = row?.["expires_at"];
  return typeof end === "string" ? Date.parse(end) : Infinity;
};

/** A role of which a tenant would have no holder for good; `now`: somebody would hold it for a while. */
export interface Lost {
  readonly tenant: string;
  readonly role: string;
  readonly now: boolean;
}
export const lostKey = ({ tenant, role }: Pick<Lost, "tenant" | "role">): string => `${tenant} ${role}`;

/**
 * Looks at all that one write alters, whoever writes. A change of who holds a role shows where an edge that was written or dropped leads
 * to one, or a node that was switched over: whatever else changed on such a way shows by itself. `spared`: `lostKey`s of what was so before.
 */
export const createRoleWatch = (signIns: SignInWays, spared: ReadonlySet<string>) => {
  const starts: RowsAt<string> = new Map();
  /** Where edges that are there now begin, by where they lead. */
  const sources = new Map<string, Set<string>>();
  const marks = new Set<string>();
  /** Identities that were switched off, and persons who lost a sign-in. */
  const switchedOff: RowsAt<string> = new Map();
  /** Where something on a way into a tenant was taken away. */
  const narrowed: RowsAt<string> = new Map();
  /** What was taken away in each tenant. */
  const losing = new Map<string, RowsAt<Loss>>();
  let refused: Lost | undefined;

  const lose = (tenant: unknown, loss: Loss, ...ats: readonly string[]): void => {
    if (typeof tenant !== "string") return;
    const lost = losing.get(tenant) ?? new Map<string, Loss[]>();
    losing.set(tenant, lost);
    for (const at of ats) keep(lost, at, loss);
  };
  const noteEdge = ({ kind, before, after, subject, src = "", dst = "" }: GraphOp): void => {
    if (kind !== "MEMBER_OF" && kind !== "BELONGS_TO") return;
    keep(starts, dst, subject);
    if (after !== undefined) sources.set(dst, (sources.get(dst) ?? new Set()).add(src));
    if (before === undefined || (after !== undefined && endOf(after) >= endOf(before))) return;
    const tenant = before["tenant_id"];
    keep(narrowed, src, subject);
    lose(tenant, { row: subject, what: `${kind} from ${src} to ${dst}` }, ...(dst === tenant ? [TENANT] : [src, dst]));
  };
  return {
    note: (row: GraphOp): void => {
      const { kind, before, after, subject, dst } = row;
      if (dst !== undefined) return noteEdge(row);
      if (after === undefined) return;
      if (kind === "Group" && isMarked(before) !== isMarked(after)) marks.add(subject);
      if (before === undefined || isActive(before) === isActive(after)) return;
      if (isActive(before)) keep(identities.has(kind) ? switchedOff : narrowed, subject, subject);
      if (isActive(before) && kind === "Account") keep(narrowed, subject, subject);
      // Identities that are switched off keep their roles, which sleep with them.
      if (isActive(before)) lose(before["tenant_id"], { row: subject, what: subject }, isWayIn.has(kind) ? TENANT : subject);
      if (kind === "Group" || kind === "BusinessRole" || (identities.has(kind) && isActive(after))) keep(starts, subject, subject);
    },
    /** A sign-in of the person was taken away. */
    noteSignIn: (tenant: string, person: string): void => {
      keep(switchedOff, person, person);
      lose(tenant, { row: person, what: `the sign-in of ${person}` }, person);
    },
    /** What the last refusal as `last_administrator` was for. */
    lost: (): Lost | undefined => refused,
    /** Throws `RoleRefused` (`access_denied`), and `last_administrator` where a tenant would lose the last holder who can sign in. Cost: nothing where no role and no tenant is near. */
    require: async (sql: Sql, right: RoleRight): Promise<void> => {
      const ways = starts.size === 0 ? [] : await sql.run(LEADS, [[...starts.keys()]]);
      const rowsAt = (start: string, why: string): Blamed[] => (starts.get(start) ?? []).map((row) => ({ row, why }));
      if (right !== "platform" && right !== "assign") {
        const blamed = [...marks].map((row) => ({ row, why: refusalOf("what may be provisioned", `The mark of ${row}`) }));
        for (const { role, start, marked: isProvisioned } of ways)
          if (right === "none" || !isProvisioned || role === PLATFORM) blamed.push(...rowsAt(start, refusalOf(role, start)));
        if (blamed.length > 0) throw new RoleRefused(blamed);
      }
      const platform = ways.filter(({ role }) => role === PLATFORM).map(({ start }) => start);
      if (platform.length > 0) {
        if (right !== "platform")
          throw new RoleError(
            "access_denied",
            platform.flatMap((start) => rowsAt(start, PLATFORM_REFUSED)),
          );
        const lost = await outsider(
          sql,
          platform.flatMap((start) => [...(sources.get(start) ?? [])]),
        );
        if (lost !== undefined)
          throw new RoleError(
            "access_denied",
            platform.flatMap((start) => rowsAt(start, `${PLATFORM} is held in the operator's tenant alone: not by ${lost}.`)),
          );
      }
      for (const [tenant, rows] of [...losing].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
        const nearby = async (): Promise<readonly Loss[]> => {
          const near = new Set((await sql.run(NEAR, [[...rows.keys()], [ADMINISTRATOR, PLATFORM]])).map(({ start }) => start));
          return [...rows].flatMap(([start, lost]) => (start === TENANT || near.has(start) ? lost : []));
        };
        const isMany = rows.size > MOST_SOUGHT;
        if (!isMany && (await nearby()).length === 0) {
          // Who is given a role at this moment is seen behind the lock, or sees behind it what is lost here.
          await sql.run(SHARE, [tenant]);
          if ((await nearby()).length === 0) continue;
        }
        await sql.run(LOCK, [tenant]);
        const lacking = (await readLacking(sql, signIns, tenant)).find(({ role }) => !spared.has(lostKey({ tenant, role })));
        if (lacking === undefined) continue;
        refused = { tenant, ...lacking };
        const { role } = lacking;
        throw new RoleError(
          "last_administrator",
          (await nearby()).map(({ row, what }) => ({
            row,
            why: `Without ${what} nobody who can sign in would hold ${role} in ${tenant} for good: by ways of active nodes and edges without an end.`,
          })),
        );
      }
      if (right === "platform" || right === "directory" || switchedOff.size + narrowed.size === 0) return;
      const off = await readShutOut(sql, [...switchedOff.keys()], [...narrowed.keys()]);
      const rows = off.flatMap((start) => [...(switchedOff.get(start) ?? []), ...(narrowed.get(start) ?? [])]);
      if (rows.length > 0) throw new RoleRefused(rows.map((row) => ({ row, why: SHUT_OUT_REFUSED })));
    },
  };
};
