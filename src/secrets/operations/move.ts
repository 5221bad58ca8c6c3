import { Problem } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import {
  carriedReply,
  isOnePath,
  lookAtCarry,
  lookAtTarget,
  putAtTarget,
  requireCarriable,
  sourceOf,
  untilTouched,
  type Carry,
} from "./copy.ts";
import { requireDecided } from "#secrets/pipeline/authorize-secret.ts";
import type { Move, MoveJournal } from "#secrets/pipeline/move-journal.ts";
import { secretOperations } from "#contract/secret-operations.ts";
import type { OperationPipeline } from "#secrets/pipeline/pipeline.ts";
import type { ReadSecret, SecretProvider, WrittenSecret } from "#secrets/providers/secret-provider.ts";
import { settledAct, type SettleParts } from "#secrets/pipeline/secret-record.ts";
import { formatPrefix, parseSecretUri } from "#secrets/model/secret-uri.ts";
import { isSameData, isSecretMap, SecretValue } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";

const GONE: ReadonlySet<string> = new Set(["secret_not_found", "key_not_found", "version_deleted", "version_destroyed"]);

/** What somebody else took away meanwhile was not moved by us: they may have it elsewhere. Throws `source_changed`. */
const removeSource = async (provider: SecretProvider, ref: SecretRef, how: Parameters<SecretProvider["remove"]>[1]): Promise<void> => {
  const removed = await provider.remove(ref, how).catch((error: unknown) => {
    if (error instanceof Problem && GONE.has(error.code)) return { result: "unchanged" };
    throw error;
  });
  if (removed.result === "unchanged")
    throw new Problem("source_changed", { detail: "Somebody else took the source away meanwhile; the copy stays." });
};

/** What was read, as it stands once the copy has made a version of its own of it. Throws `source_changed` where that was made of another one. */
const asCopied = (read: ReadSecret, { oldVersion, version, createdTime }: WrittenSecret): ReadSecret => {
  if (oldVersion !== read.version) throw new Problem("source_changed");
  return { ...read, ...(version === undefined ? {} : { version }), ...(createdTime === undefined ? {} : { createdTime }) };
};

/** What broke a move off whose target was written: the answer says so. Only what was refused has surely not deleted the source. */
const brokenOff = (error: unknown): Problem => {
  const { code, status, options } = asProblem(error);
  const isRefused = status < 500;
  const detail = isRefused
    ? "The copy was written, and the source stays."
    : "The copy was written; whether the source is deleted is not known.";
  const said = options.detail === undefined || !isRefused ? detail : `${options.detail} ${detail}`;
  return new Problem(isRefused ? code : "outcome_unknown", { cause: error, members: options.members, detail: said });
};

/**
 * Copies, verifies, then deletes the source if it is still what was read, else `source_changed` and both stay. Every step is in the
 * journal before it is taken: at no moment is the secret nowhere.
 */
export const moveSecretTo = async (perform: OperationPipeline, journal: MoveJournal, carry: Carry) => {
  requireCarriable(carry);
  await lookAtTarget(perform, carry);
  const { from, to, who } = carry;
  const done = await perform({
    ...sourceOf(secretOperations.move, carry),
    act: async (provider, ref, permit, { intend }) => {
      const read = requireDecided(await provider.read(ref), permit);
      const id = await journal.begin({
        tenant: ref.tenant,
        from_uri: from.id,
        to_uri: to.id,
        source_version: read.version ?? null,
        source_created_at: read.createdTime ?? null,
        subject: who.caller.sub,
        decision_id: permit.decisionId ?? null,
        correlation_id: who.correlationId,
      });
      let copied: WrittenSecret | undefined;
      try {
        const put = await putAtTarget(perform, carry, read);
        copied = put.result;
        await journal.mark(id, "verified");
        const onlyIf = isOnePath(from, to) ? asCopied(read, copied) : read;
        await removeSource(provider, ref, { hard: false, decided: permit.nodes, onlyIf, intend });
        await journal.mark(id, "source_deleted");
        await journal.mark(id, "done");
        return { id, written: copied };
      } catch (error) {
        const problem = asProblem(error);
        // What is not known to have failed is left to be settled by what is there.
        if (problem.status < 500) await journal.mark(id, "failed", problem.code);
        throw copied === undefined || problem.code === "source_changed" ? error : brokenOff(error);
      }
    },
  });
  return { ...carriedReply(carry, done.result.written), id: done.result.id, state: "done" as const };
};

/** All that may refuse a move, and nothing of it done. Throws as it does. */
export const lookAtMove = async (perform: OperationPipeline, carry: Carry) => {
  const looked = await lookAtCarry(perform, secretOperations.move, carry, (provider, ref, permit, onlyIf) =>
    untilTouched((intend) => removeSource(provider, ref, { hard: false, decided: permit.nodes, onlyIf, intend })),
  );
  return { ...looked, state: "planned" as const };
};

export interface SettleMoveParts extends SettleParts {
  readonly journal: MoveJournal;
}

const readOrNone = async (provider: SecretProvider, ref: SecretRef): Promise<ReadSecret | undefined> => {
  try {
    return await provider.read(ref);
  } catch (error) {
    if (error instanceof Problem && GONE.has(error.code)) return undefined;
    throw error;
  }
};

/** Whether the target holds what the source does: the key, or the whole map. */
const holds = (target: ReadSecret, to: SecretRef, source: ReadSecret, from: SecretRef): boolean => {
  const [there, here] = [SecretValue.reveal(target.value), SecretValue.reveal(source.value)];
  if (from.key === undefined || to.key !== undefined) return isSameData(there, here);
  return isSecretMap(there) && isSameData(there.get(from.key), here);
};

const settleOne = async (parts: SettleMoveParts, move: Move): Promise<"done" | "failed"> => {
  const refOf = (uri: string): SecretRef => Object.freeze({ ...parseSecretUri(uri, parts.policy.schemes), tenant: move.tenant });
  const [from, to] = [refOf(move.from_uri), refOf(move.to_uri)];
  const [source, target] = [parts.providers.get(from.scheme), parts.providers.get(to.scheme)];
  if (source === undefined || target === undefined) throw new Problem("provider_not_configured");
  await Promise.all([parts.changes.catchUp(source), parts.changes.catchUp(target)]);
  const [here, there] = [await readOrNone(source, from), await readOrNone(target, to)];
  if (there === undefined) return "failed";
  // Before the copy was verified the source was not touched: it was taken away by somebody else.
  if (here === undefined && move.state === "planned") throw new Problem("source_changed");
  if (here === undefined) return "done";
  const isAsRead = (here.version ?? null) === move.source_version && (here.createdTime ?? null) === move.source_created_at;
  const isAsCopied = isOnePath(from, to) && move.source_version !== null && here.version === move.source_version + 1;
  if (!(isAsRead || isAsCopied) || !holds(there, to, here, from)) return "failed";
  const decided = new Set((await source.nodes(from)).map((node) => node.id));
  const uris = [formatPrefix(from)];
  await parts.changes.begin(move.tenant, uris);
  await removeSource(source, from, { hard: false, decided, onlyIf: here });
  await parts.changes.end(uris, { tenant: move.tenant, by: move.subject ?? "service:secrets", isRotation: false }, source);
  return "done";
};

/** What a process left open is in the audit log as unknown: how it ended is told by an entry of its own, with its event. */
const record = (parts: SettleParts, move: Move, state: "done" | "failed", code?: string): Promise<void> =>
  parts.change(async () => {
    const from = parseSecretUri(move.from_uri, parts.policy.schemes);
    const versions = move.source_version === null ? [] : [move.source_version];
    const end = { outcome: state === "done" ? "ok" : "refused", code, wanted: "deleted", versions } as const;
    const operation = { ...secretOperations.move, purposes: ["delete"] } as const;
    return { result: undefined, ...settledAct(move, operation, from, "move_id", end, parts) };
  });

/** Ends the moves that a process left: the source is deleted where the target holds the same, else both stay as they are. */
export const settleMoves = async (parts: SettleMoveParts): Promise<number> => {
  const moves = await parts.journal.takeAbandoned();
  for (const move of moves) {
    try {
      const ended = await settleOne(parts, move).then(
        (state) => ({ state, code: undefined }),
        (error: unknown) => {
          const { code } = asProblem(error);
          if (code !== "source_changed") throw error;
          return { state: "failed" as const, code };
        },
      );
      // Recorded first: told twice after a crash in between, never not at all.
      await record(parts, move, ended.state, ended.code);
      await parts.journal.mark(move.id, ended.state, ended.code);
      parts.log.warn("secret_move_settled", { move_id: move.id, ...ended });
    } catch (error) {
      parts.log.warn("secret_move_unsettled", { move_id: move.id, code: asProblem(error).code });
    }
  }
  return moves.length;
};
