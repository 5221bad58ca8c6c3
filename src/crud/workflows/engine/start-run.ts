import { Problem } from "#contract/problem.ts";
import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { EntryActor, EntryDraft } from "#events/audit/entry.ts";
import type { Change } from "#events/changes/change.ts";
import { statement } from "#store/database.ts";
import { keyedDigest } from "#crud/model/digest.ts";
import type { ValueSeals } from "#crud/model/sealed-values.ts";
import { wireNameOf } from "#crud/workflows/definition/workflow-tool.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { RUN_COLUMNS } from "./ledger.ts";
import { runEvents } from "./run-events.ts";
import { idOf } from "./run-ids.ts";
import type { RunRow } from "./run-rows.ts";
import { MAX_VALUE_BYTES } from "./step-place.ts";

/** Who starts a run or acts on it, by which request. */
export interface RunCaller {
  readonly caller: Pick<Caller, "sub" | "tenant" | "scopes" | "agent" | "clientId" | "acr" | "amr" | "authTime">;
  /** Of the agent's call. */
  readonly delegationId?: string | undefined;
  readonly decisionId?: string | undefined;
  readonly correlationId: string;
}

export interface RunStart {
  readonly document: WorkflowDocument;
  readonly configVersion: number;
  /** Checked against the document's schema. */
  readonly input: unknown;
  /** Schemas of forms: what they mark as `x-redact` is sealed beside what the document's marks. */
  readonly redactBy?: readonly unknown[] | undefined;
  readonly by: RunCaller;
  readonly idempotencyKey?: string | undefined;
}

export interface StartContext {
  readonly change: Change;
  readonly newId: () => string;
  readonly seals: Pick<ValueSeals, "seal">;
  /** Of digests of input. */
  readonly digestKey: Uint8Array;
}

const MAX_LIVE_RUNS = 100_000;

const INSERT = statement<RunRow>(
  "crud.wf_start",
  `insert into crud.wf_run (id, tenant, name, version, config_version, subject, agent, delegation_id, client_id, scopes, acr, auth_time,
     correlation_id, input, idem_key, idem_hash, namespace, wake_at, created_at, updated_at, deadline)
   select $1, $2, $3, $4, $5::int, $6, $7, $8, $9, $10::text[], $11, to_timestamp($12::float8), $13, $14::json, $15, $16, $17, now, now, now,
     now + make_interval(secs => $18::float8)
   from (select crud.wf_now() as now) as moment
   on conflict (tenant, name, subject, idem_key) where idem_key is not null do nothing returning ${RUN_COLUMNS}`,
);
const BY_KEY = statement<RunRow & { readonly idem_hash: string }>(
  "crud.wf_by_key",
  `select ${RUN_COLUMNS}, idem_hash from crud.wf_run where tenant = $1 and name = $2 and subject = $3 and idem_key = $4`,
);
const IS_FULL = statement<{ full: boolean }>(
  "crud.wf_is_full",
  `select exists (select from crud.wf_run where tenant = $1 and ended_at is null offset ${MAX_LIVE_RUNS - 1}) as full`,
);
export const WAKE = statement("crud.wf_wake", "select pg_notify('wf_wake', '')");

export const actorOf = ({ caller, delegationId }: RunCaller): EntryActor => ({
  subject: caller.sub,
  kind: actorKindOf(caller),
  agent_id: caller.agent,
  delegation_id: delegationId,
  client_id: caller.clientId,
  acr: caller.acr,
  amr: caller.amr,
});

/** The audit entry of what somebody did with a run. */
export const runEntry = (run: Pick<RunRow, "id" | "tenant" | "name" | "version">, op: string, by: RunCaller): EntryDraft => ({
  tenant: run.tenant,
  category: "workflow",
  outcome: "ok",
  actor: actorOf(by),
  via: { service: "crud" },
  resource: { type: "workflow_run", id: run.id },
  decisionId: by.decisionId,
  correlationId: by.correlationId,
  data: { op, run_id: run.id, workflow: run.name, version: run.version },
});

/**
 * Starts a run: row, event and audit entry are one transaction. The same key and data give the same run. Throws `idempotency_mismatch` for
 * a key with other data, `value_too_large`, `rate_limited`.
 */
export const startRun = async (parts: StartContext, start: RunStart): Promise<{ readonly run: RunRow; readonly isNew: boolean }> => {
  const { document, by, idempotencyKey: key = null } = start;
  const name = wireNameOf(document.name);
  const { caller } = by;
  const id = idOf("run", parts.newId());
  const input = JSON.stringify(await parts.seals.seal([document.input, ...(start.redactBy ?? [])], start.input ?? null, id));
  if (Buffer.byteLength(input) > MAX_VALUE_BYTES)
    throw new Problem("value_too_large", { detail: `The data of a run has at most ${MAX_VALUE_BYTES} bytes.` });
  const hash = keyedDigest(parts.digestKey, [document.version, start.input ?? null]);
  return parts.change<{ readonly run: RunRow; readonly isNew: boolean }>(async (sql) => {
    const [known] = key === null ? [] : await sql.run(BY_KEY, [caller.tenant, name, caller.sub, key]);
    const stored = known ?? (await insert());
    if (stored === undefined) throw new Problem("busy");
    const { idem_hash: before, ...run } = stored;
    if (before !== undefined && before !== hash) throw new Problem("idempotency_mismatch");
    if (before !== undefined) return { result: { run, isNew: false } };
    return { result: { run, isNew: true }, entries: [runEntry(run, "start", by)], events: runEvents(undefined, run, []) };

    async function insert(): Promise<(RunRow & { readonly idem_hash?: string }) | undefined> {
      if ((await sql.run(IS_FULL, [caller.tenant]))[0]?.full === true)
        throw new Problem("rate_limited", {
          detail: `At most ${MAX_LIVE_RUNS} runs of a tenant are live at once.`,
          headers: { "retry-after": "30" },
        });
      sql.post(WAKE);
      const [made] = await sql.run(INSERT, [
        id,
        caller.tenant,
        name,
        document.version,
        start.configVersion,
        caller.sub,
        caller.agent ?? null,
        by.delegationId ?? null,
        caller.clientId ?? null,
        [...caller.scopes],
        caller.acr ?? null,
        caller.authTime ?? null,
        by.correlationId,
        input,
        key,
        key === null ? null : hash,
        document.tenant?.replace(/^tenant:/, "") ?? "all",
        document.timeoutMs / 1000,
      ]);
      // Of two at once the other one was first.
      return made ?? (await sql.run(BY_KEY, [caller.tenant, name, caller.sub, key]))[0];
    }
  });
};
