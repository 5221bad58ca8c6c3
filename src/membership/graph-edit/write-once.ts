import { answer, type Answer } from "#http/serve.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { findAnswer, saveAnswer, type KeyedAnswer, type KeyedCall } from "#membership/idempotency.ts";
import { OnlyTried } from "#membership/only-tried.ts";
import type { MembershipRoom } from "#membership/room.ts";
import { versioned } from "./graph-answers.ts";
import { writeAs, type GraphAct } from "./write-as.ts";

interface OnceOptions<Done> {
  readonly key: KeyedCall;
  readonly isTried?: boolean;
  /** Status and headers of the answer; 200 unless given, and always with the graph's version. */
  readonly shownAs?: (done: Done) => { readonly status: number; readonly headers: Readonly<Record<string, string>> };
}

/**
 * As `writeAs`, once for each key: what is sent again with it gets the first answer, and nothing is done. `isTried`: all of it is checked,
 * nothing is kept, and the answer says what it would have come to. Throws what `findAnswer` and `writeAs` do.
 */
export const writeOnce = async <Done, Reply>(
  room: MembershipRoom,
  act: GraphAct,
  { key, isTried = false, shownAs }: OnceOptions<Done>,
  work: (tx: GraphTransaction, scope: TenantScope) => Promise<Done>,
  replyOf: (done: Done, version: bigint) => Reply,
): Promise<Reply | Answer<Reply>> => {
  let kept: KeyedAnswer | undefined;
  try {
    await writeAs(room, act, async (tx, scope) => {
      kept = isTried ? undefined : await findAnswer(tx.sql, key);
      if (kept !== undefined) return { value: undefined, entries: () => [] };
      const done = await work(tx, scope);
      if (isTried) {
        await tx.requireRoles();
        throw new OnlyTried(done);
      }
      return {
        value: undefined,
        finish: async (version) => {
          const { status, headers } = shownAs?.(done) ?? { status: 200, headers: {} };
          kept = { status, headers: { ...headers, ...versioned(version) }, body: replyOf(done, version) };
          await saveAnswer(tx.sql, key, kept);
        },
      };
    });
  } catch (error) {
    if (!(error instanceof OnlyTried)) throw error;
    return replyOf(error.outcome as Done, (await room.reader.version()).version);
  }
  if (kept === undefined) throw new Error("a write that ended has an answer");
  return answer(kept.body as Reply, { status: kept.status, headers: kept.headers });
};
