import type { Change } from "#events/changes/change.ts";
import type { Notice } from "#events/model/notice.ts";
import type { PdpClient, Principal } from "#pdp-client/pdp-client.ts";
import type { Database, TransactionSql } from "#store/database.ts";
import type { ValueSeals } from "#crud/model/sealed-values.ts";
import type { Metrics } from "#telemetry/metrics.ts";

/** Writes notices into the outbox, in the transaction of what they tell of. Only SQL inside. */
export type Notify = (sql: TransactionSql, notice: Notice) => void | Promise<void>;

/** What tasks ask of the graph. Each throws `membership_unavailable`. */
export interface TaskGraph {
  /** A person's active groups and roles, nested ones included; undefined: no such person in the tenant, or a disabled one. */
  groupsOf(person: string, within: GraphReader): Promise<ReadonlySet<string> | undefined>;
  /** What joins an agent to a person: the person controls it, or has a delegation to it. */
  linkOf(agent: string, person: string, within: GraphReader): Promise<"control" | "delegation" | undefined>;
  /** Of at most 1,000 agents those that the person controls. */
  controlledBy(person: string, agents: readonly string[], within: GraphReader): Promise<readonly string[]>;
}
export interface GraphReader {
  readonly tenant: string;
  readonly correlationId: string;
}

/** Who acts on a task or run, by which request. */
export interface TaskCaller {
  readonly caller: Principal;
  /** Of the agent's call. */
  readonly delegationId?: string | undefined;
  readonly correlationId: string;
}

export interface TaskContext {
  readonly database: Database;
  readonly change: Change;
  readonly pdpClient: Pick<PdpClient, "decide" | "decideMany" | "refusal">;
  readonly graph: TaskGraph;
  readonly notify: Notify;
  /** JSON Schema of a form's data; undefined: none is known, and the data is an object. */
  readonly formSchema: (tenant: string, form: string) => Promise<unknown>;
  /** Data with what its form normalizes and fills in. */
  readonly fillForm: (
    schema: unknown,
    data: Readonly<Record<string, unknown>>,
    scope: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>;
  readonly seals: ValueSeals;
  /** Of digests of evidence and data. */
  readonly digestKey: Uint8Array;
  readonly publicOrigin: string;
  /** UUIDv7. */
  readonly newId: () => string;
  readonly metrics: Pick<Metrics, "count">;
}
