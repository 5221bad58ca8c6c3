import { randomUUID } from "node:crypto";
import { statement, type Sql } from "#store/database.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { anybody, readHolders, type SignInWays } from "#membership/graph/remaining-holders.ts";
import { createRoleWatch, lostKey, type Lost, type RoleRight } from "#membership/graph/role-watch.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { GraphOp } from "./graph-op.ts";
import { createPlatformSecretWatch } from "./platform-secrets.ts";
import type { SharedReach } from "./tenant-scope.ts";
import { createWriteEvents } from "./write-events.ts";

export type GraphSource = "api" | "import" | "sync" | "sweeper" | "discovery" | "demo" | "undo";

/** Who writes, how and why; kept with the version. */
export interface WriteBy {
  readonly actor: string;
  readonly agent?: string | undefined;
  readonly source: GraphSource;
  readonly reason?: string | undefined;
  readonly correlationId: string;
  /** Tenant that the version belongs to; null = Sallyport's own, shared part. */
  readonly tenantId: string | null;
  /** What it may change of who holds a role; `none` unless given. */
  readonly roles?: RoleRight | undefined;
  /** Whether it may write what names a secret of the platform; no unless given. */
  readonly shared?: SharedReach | undefined;
}

export interface GraphTransaction {
  readonly sql: Sql;
  /** Puts the op into the version that this transaction becomes. Rows are written before. */
  record(op: GraphOp): void;
  /** A sign-in of the person is taken away, which is no row of the graph. */
  unlinked(tenant: string, person: string): void;
  /** For who writes many: hands the ops so far to the database, once they are too many to keep here. */
  spill(): Promise<void>;
  /** That who holds a role, and what names a secret of the platform, changed no more than the writer may: asked at the end of every write, and by who only tries one. Throws `access_denied`, `last_administrator`. */
  requireRoles(): Promise<void>;
}

/** For what is tried and undone: nothing of it is recorded. */
export const unrecorded = (sql: Sql): GraphTransaction => ({
  sql,
  record: () => {},
  unlinked: () => {},
  spill: async () => {},
  requireRoles: async () => {},
});

export interface Written<T> {
  readonly value: T;
  /** Last thing in the transaction, when the version is known. */
  readonly finish?: (version: bigint) => Promise<void>;
  readonly events?: (version: bigint) => readonly EventDraft[];
  readonly entries?: (version: bigint) => readonly EntryDraft[];
}

/**
 * One transaction, one version: the work changes rows and records ops; then the ops are written, the head is raised, and
 * events and audit rows follow in the same commit. Without ops there is no version, and the answer names the present one.
 * The work may run again after a serialization issue, so it must do nothing but use its `sql`.
 */
export type WriteGraph = <T>(
  by: WriteBy,
  work: (tx: GraphTransaction) => Promise<Written<T>>,
) => Promise<{ readonly value: T; readonly version: bigint }>;

const RAISE = statement<{ version: bigint }>(
  "membership.head_raise",
  "update membership.graph_head set version = version + 1, at = clock_timestamp() returning version",
);
const HEAD = statement<{ version: bigint }>("membership.head", "select version from membership.graph_head");
const INSERT_CHANGE = statement(
  "membership.change_insert",
  `insert into membership.graph_change (version, at, tenant_id, actor, agent, source, reason, correlation_id)
   values ($1, clock_timestamp(), $2, $3, $4, $5, $6, $7)`,
);
/** $1 version or draft, $2 its ops. */
const insertOps = (into: string): string => `insert into membership.${into}, seq, op, subject, src, dst, before, after)
   select $1, o.seq, o.op, o.subject, o.src, o.dst, o.before, o.after
   from jsonb_to_recordset($2::jsonb) as o(seq int, op text, subject text, src text, dst text, before jsonb, after jsonb)`;
const INSERT_OPS = statement("membership.change_op_insert", insertOps("graph_change_op (version"));
const DRAFT_OPS = statement("membership.change_op_draft", insertOps("graph_change_draft (draft"));
const MOVE_OPS = statement(
  "membership.change_op_move",
  `with moved as (delete from membership.graph_change_draft where draft = $2 returning *)
   insert into membership.graph_change_op (version, seq, op, subject, src, dst, before, after)
   select $1, seq, op, subject, src, dst, before, after from moved`,
);
/** Ops that are kept here before they are handed over. */
const MAX_OPS = 2_000;

export interface WriteParts {
  readonly change: Change;
  readonly metrics: Metrics;
  /** Told of a version that was committed, and waited for before its writer is answered. */
  readonly written?: (version: bigint) => Promise<void>;
  /** Who can sign in, and so counts as an administrator; every person unless given. */
  readonly signIns?: SignInWays | undefined;
  /** Whether a secret URI lies at a place of the platform; none does unless given. */
  readonly isPlatformSecret?: ((uri: string) => boolean) | undefined;
}

/** Whether the state before had what a write was refused for taking away. */
const wasThere = async ({ change, signIns = anybody }: WriteParts, { tenant, role, now }: Lost): Promise<boolean> => {
  const holdings = await change(async (sql) => ({ result: await readHolders(sql, signIns, tenant) }));
  const held = holdings.find((one) => one.role === role);
  return held !== undefined && (held.endless || !now);
};

export const createWriteGraph = (parts: WriteParts): WriteGraph => {
  const { signIns = anybody, isPlatformSecret = () => false } = parts;
  return async (by, work) => {
    let hasChanged = false;
    let watch: ReturnType<typeof createRoleWatch> | undefined;
    const spared = new Set<string>();
    const attempt = () =>
      parts.change(async (sql) => {
        const news = createWriteEvents();
        const draft = randomUUID();
        let ops: GraphOp[] = [];
        let spilt = 0;
        const watching = createRoleWatch(signIns, spared);
        watch = watching;
        const secrets = createPlatformSecretWatch(isPlatformSecret);
        const requireRoles = async (): Promise<void> => {
          await secrets.require(sql, by.shared);
          await watching.require(sql, by.roles ?? "none");
        };
        const texts = (): string => JSON.stringify(ops.map(({ kind: _kind, ...op }, index) => ({ seq: spilt + index, ...op })));
        const written = await work({
          sql,
          record: (op) => {
            news.note(op);
            watching.note(op);
            secrets.note(op);
            ops.push(op);
          },
          unlinked: watching.noteSignIn,
          spill: async () => {
            if (ops.length < MAX_OPS) return;
            await sql.run(DRAFT_OPS, [draft, texts()]);
            spilt += ops.length;
            ops = [];
          },
          requireRoles,
        });
        await requireRoles();
        hasChanged = news.kinds.size > 0;
        const [head] = await sql.run(hasChanged ? RAISE : HEAD);
        if (head === undefined) throw new Error("the graph has no head");
        const { version } = head;
        if (hasChanged) {
          await sql.run(INSERT_CHANGE, [version, by.tenantId, by.actor, by.agent ?? null, by.source, by.reason ?? null, by.correlationId]);
          if (spilt > 0) await sql.run(MOVE_OPS, [version, draft]);
          await sql.run(INSERT_OPS, [version, texts()]);
        }
        await written.finish?.(version);
        return {
          result: { value: written.value, version },
          events: [...(written.events?.(version) ?? []), ...(hasChanged ? news.draft(by, version) : [])],
          entries: written.entries?.(version) ?? [],
        };
      });
    const settled = async (): ReturnType<typeof attempt> => {
      try {
        return await attempt();
      } catch (error) {
        const lost = watch?.lost();
        if (lost === undefined || spared.has(lostKey(lost)) || (await wasThere(parts, lost))) throw error;
        // Nobody was there whom this write could take away.
        spared.add(lostKey(lost));
        return settled();
      }
    };
    const done = await settled();
    if (hasChanged) {
      parts.metrics.count("membership_writes_total", { source: by.source });
      parts.metrics.set("membership_graph_version", {}, Number(done.version));
      await parts.written?.(done.version);
    }
    return done;
  };
};
