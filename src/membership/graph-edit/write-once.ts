import type { Answer } from "#http/serve.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import { createKeyedWrite, keptAnswer, type KeyedCall } from "#membership/context/idempotency.ts";
import { DryRunOnly, outcomeOf } from "#membership/model/dry-run.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { versioned } from "#membership/context/graph-answers.ts";
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
  context: MembershipContext,
  act: GraphAct,
  { key, isTried = false, shownAs }: OnceOptions<Done>,
  work: (tx: GraphTransaction, scope: TenantScope) => Promise<Done>,
  replyOf: (done: Done, version: bigint) => Reply,
): Promise<Reply | Answer<Reply>> => {
  if (isTried) {
    const trying = writeAs<never>(context, act, async (tx, scope) => {
      const done = await work(tx, scope);
      await tx.requireRoles();
      throw new DryRunOnly(done);
    });
    const done = (await trying.catch(outcomeOf)) as Done;
    return replyOf(done, (await context.reader.version()).version);
  }
  const once = createKeyedWrite(key);
  await writeAs(context, act, (tx, scope) =>
    once.work(tx.sql, async () => {
      const done = await work(tx, scope);
      const { status, headers } = shownAs?.(done) ?? { status: 200, headers: {} };
      return { answerAt: (version) => ({ status, headers: { ...headers, ...versioned(version) }, body: replyOf(done, version) }) };
    }),
  );
  return keptAnswer<Reply>(once.answer());
};
