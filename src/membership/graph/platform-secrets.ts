import { statement, type Sql } from "#store/database.ts";
import { RoleError } from "#membership/graph/role-watch.ts";
import type { GraphOp } from "./graph-op.ts";
import type { SharedReach } from "./tenant-scope.ts";

const NAMED = statement<{ id: string; external_id: string }>(
  "membership.resources_named",
  "select id, external_id from membership.node where id = any($1) and kind = 'Resource' and external_id is not null",
);
const why = "What names a secret of the platform is written by who runs the deployment (role:platform) alone.";

/**
 * Looks at all that one write alters for secrets of the platform: a Resource node names one by its external id, and an edge to that node
 * says who may do something with it. Edges that go are let go: they only narrow.
 */
export const createPlatformSecretWatch = (isPlatformSecret: (uri: string) => boolean) => {
  const nodes: string[] = [];
  const edges: (readonly [dst: string, edge: string])[] = [];
  const names = (row: GraphOp["before"]): boolean => typeof row?.["external_id"] === "string" && isPlatformSecret(row["external_id"]);
  return {
    note: ({ subject, kind, before, after, dst }: GraphOp): void => {
      if (dst !== undefined && after !== undefined && kind !== "MEMBER_OF" && kind !== "BELONGS_TO") edges.push([dst, subject]);
      if (kind === "Resource" && (names(before) || names(after))) nodes.push(subject);
    },
    /** Throws `RoleError` (`access_denied`) for a writer without the right. Cost: a statement where such edges were written. */
    require: async (sql: Sql, reach: SharedReach | undefined): Promise<void> => {
      if (reach?.isPermitted === true || nodes.length + edges.length === 0) return;
      const ends = edges.length === 0 ? [] : await sql.run(NAMED, [[...new Set(edges.map(([dst]) => dst))]]);
      const named = new Set(ends.filter(names).map(({ id }) => id));
      const rows = [...nodes, ...edges.flatMap(([dst, edge]) => (named.has(dst) ? [edge] : []))];
      if (rows.length === 0) return;
      if (reach !== undefined) reach.wasWanted = true;
      const blamed = rows.map((row) => ({ row, why }));
      throw new RoleError("access_denied", blamed);
    },
  };
};
