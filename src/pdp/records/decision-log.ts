import type { ServiceParts } from "#authn/callers/service-parts.ts";
import { facts as factsSchema, type Facts } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import { startInterval } from "#http/interval.ts";
import { emptyContextOf, rowsInTurns, rowsOf, type CallRows, type RowParts } from "./call-rows.ts";
import { formatDecisionId, parseDecisionId } from "./decision-id.ts";
import { createGroupCommit } from "./group-commit.ts";
import { listCallItems, listCallValues, type ListedName, type ListedValue, type ListFilter, type ListPosition } from "./list-calls.ts";
import { recordTaking } from "./record-taking.ts";
import { mustBeDurable, usesUpApproval, type CallDraft, type Recorded } from "./record.ts";
import { findCallItems, findManyFacts, purgeRecords, readCallPage, writeRows, type CallPageAsk, type CallRow } from "./record-store.ts";

interface WithFacts {
  readonly item: Pick<Recorded["item"], "facts">;
}

/** What was decided, kept so that it can be explained. */
export interface DecisionLog {
  /**
   * Resolves when the call may be answered: denials and acts are then committed, permits to view are taken and written within
   * 50 ms. A permit that uses an approval up takes it in the same commit. Throws `decision_not_recorded`, of which
   * `ApprovalTaken` says that another call was first: decided again it is a denial.
   */
  record(draft: CallDraft): Promise<void>;
  /** Those of the ids that are known, by id. Sees what was taken but not yet written. */
  find(decisionIds: readonly string[]): Promise<ReadonlyMap<string, Recorded>>;
  /** What the graph said when it was decided, if it said anything and is still kept. */
  factsOf(recorded: WithFacts): Promise<Facts | undefined>;
  /** As `factsOf`, for many at once: by digest. */
  factsOfAll(recorded: readonly WithFacts[]): Promise<ReadonlyMap<string, Facts>>;
  /** Every decision of whole calls before a position, newest first; `next` is absent at the end. For replays. */
  page(ask: CallPageAsk): Promise<{ readonly recorded: readonly Recorded[]; readonly next?: CallPageAsk["before"] }>;
  /** The context digest of a decision that was asked without properties, claims and UI. */
  readonly emptyContext: string;
  /** One page. `searchedTo`: the time up to which was looked, where there may be more behind it. */
  list(filter: ListFilter): Promise<{ readonly recorded: readonly Recorded[]; readonly next?: ListPosition; readonly searchedTo?: string }>;
  /** What there is to look for: values that hold `filter.parts[of]`, of the newest calls. */
  values(filter: ListFilter, of: ListedValue): Promise<readonly ListedName[]>;
  isWritable(): boolean;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface DecisionLogParts extends RowParts, Pick<ServiceParts, "database" | "change" | "metrics" | "log" | "now"> {
  readonly windowMs: number;
  readonly keepDays: number;
  readonly timeoutMs: number;
}

const DEFER_MS = 50;
const MAX_ROWS = 500;
/** Decisions that wait to be written: each holds its facts in memory. */
const MAX_WAITING = 10_000;
const PURGE_EVERY_MS = 3_600_000;

/** Records on the database, each call with its audit entry, and with the notices it obliges to, in the same transaction. */
export const createDecisionLog = (parts: DecisionLogParts): DecisionLog => {
  const { database, metrics, log, now } = parts;
  const queue = createGroupCommit<CallDraft, CallRows>({
    make: (draft, turn) => (draft.items.length === 1 ? rowsOf(draft, parts) : rowsInTurns(draft, parts, turn)),
    lost: (cause) => log.error("pdp_record_lost", { cause }),
    write: async (groups) => {
      const started = performance.now();
      try {
        await parts.change(async (sql) => {
          writeRows(sql, groups, now());
          return { result: undefined, events: groups.flatMap((group) => group.events), entries: groups.flatMap((group) => group.entries) };
        });
      } catch (cause) {
        log.error("pdp_record_failed", { rows: groups.length, cause });
        throw cause;
      }
      metrics.observe("pdp_record_seconds", {}, (performance.now() - started) / 1000);
    },
    windowMs: parts.windowMs,
    deferMs: DEFER_MS,
    maxRows: MAX_ROWS,
    timeoutMs: parts.timeoutMs,
    maxWaiting: MAX_WAITING,
    weigh: ({ items }) => items.length,
  });
  const purging = startInterval({
    everyMs: PURGE_EVERY_MS,
    work: () => purgeRecords(database, new Date(now().getTime() - parts.keepDays * 86_400_000)),
    failed: (cause) => log.warn("pdp_purge_failed", { cause }),
  });

  const recordedOf = ({ item, part: _part, agent, request_id: _request, subject_name, agent_name, ...call }: CallRow): Recorded => {
    const resourceId =
      item.sealed_id === undefined ? item.id : parts.sealer.open(new Uint8Array(Buffer.from(item.sealed_id, "base64url")), call.call_id);
    return {
      ...call,
      decision_id: formatDecisionId({ callId: call.call_id, index: item.index }),
      agent: agent ?? undefined,
      names: { subject: subject_name ?? undefined, agent: agent_name ?? undefined },
      item,
      resourceId,
    };
  };

  const find: DecisionLog["find"] = async (decisionIds) => {
    const wanted = decisionIds.flatMap((id) => parseDecisionId(id)?.callId ?? []);
    await queue.flush();
    const rows = await findCallItems(database, [...new Set(wanted)]);
    const all = new Map(rows.map(recordedOf).map((recorded) => [recorded.decision_id, recorded]));
    return new Map(decisionIds.flatMap((id) => (all.has(id) ? [[id, all.get(id) as Recorded] as const] : [])));
  };

  const opened = (digest: string, kept: { readonly facts: unknown; readonly sealed: Uint8Array | null }): Facts | undefined => {
    const text = kept.sealed === null ? undefined : parts.sealer.open(kept.sealed, digest);
    const read = factsSchema.safeParse(kept.sealed === null ? kept.facts : text === undefined ? undefined : JSON.parse(text));
    return read.success ? read.data : undefined;
  };

  const factsOfAll: DecisionLog["factsOfAll"] = async (recorded) => {
    const digests = [...new Set(recorded.flatMap(({ item }) => item.facts ?? []))];
    const rows = digests.length === 0 ? [] : await findManyFacts(database, digests);
    return new Map(
      rows.flatMap(({ digest, ...kept }) => {
        const facts = opened(digest, kept);
        return facts === undefined ? [] : [[digest, facts] as const];
      }),
    );
  };

  const factsOf: DecisionLog["factsOf"] = async (recorded) => (await factsOfAll([recorded])).get(recorded.item.facts ?? "");

  const page: DecisionLog["page"] = async (ask) => {
    await queue.flush();
    const calls = await readCallPage(database, ask);
    const last = calls.at(-1);
    return {
      recorded: calls.flatMap(({ items, ...call }) => items.map((item) => recordedOf({ ...call, item }))),
      next: last === undefined || calls.length < ask.limit ? undefined : { callId: last.call_id, part: last.part },
    };
  };

  return {
    record: async (draft) => {
      if (usesUpApproval(draft)) await recordTaking(parts, rowsOf(draft, parts));
      else if (mustBeDurable(draft)) await queue.commit(draft);
      else queue.defer(draft);
    },
    find,
    factsOf,
    factsOfAll,
    page,
    emptyContext: emptyContextOf(parts),
    list: async (filter) => {
      await queue.flush();
      const { rows, ...page } = await listCallItems(database, filter, now());
      return { ...page, recorded: rows.map(recordedOf) };
    },
    values: async (filter, of) => {
      await queue.flush();
      return listCallValues(database, filter, of);
    },
    isWritable: queue.isWritable,
    [Symbol.asyncDispose]: async () => {
      await purging[Symbol.asyncDispose]();
      await queue.close();
      if (!queue.isWritable()) throw new Problem("decision_not_recorded", { detail: "The last permits to view could not be written." });
    },
  };
};
