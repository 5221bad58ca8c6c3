import { createHmac } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { idempotencyKey } from "#contract/ids.ts";
import { Problem, problemCodes, type ProblemCode } from "#contract/problem.ts";
import { keyHolderOf, type Caller } from "#authn/model/caller.ts";
import { deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";
import { asProblem } from "#http/problem-body.ts";
import { answer, Answer, type Handler } from "#http/serve.ts";
import { statement, type Database } from "#store/database.ts";

type PassAgain<E> = (call: Parameters<Handler<E, Caller>>[0], known: unknown) => Promise<unknown>;

export type KeyedAnswers = ReturnType<typeof createKeyedAnswers>;

type Place = readonly [tenant: string, caller: string, path: string, key: string];

const UNKNOWN = problemCodes.outcome_unknown.status;

const CLAIM = statement<{ key: string }>(
  "secrets.keyed_claim",
  `insert into secrets.keyed_answer as known (tenant, caller, path, key, body_mac) values ($1, $2, $3, $4, $5)
   on conflict (tenant, caller, path, key) do update set body_mac = excluded.body_mac, status = null, answer = null, claimed_at = now()
   where known.claimed_at < now() - interval '24 hours'
   returning key`,
);
/** A claim without an answer is another's work under way. After ten minutes its process is gone, and nobody can tell how far it came. */
const FIND = statement<{ body_mac: string; status: number | null; answer: unknown }>(
  "secrets.keyed_find",
  `select body_mac, case when status is null and claimed_at < now() - interval '10 minutes' then ${UNKNOWN} else status end as status, answer
   from secrets.keyed_answer where tenant = $1 and caller = $2 and path = $3 and key = $4`,
);
const SAVE = statement(
  "secrets.keyed_save",
  "update secrets.keyed_answer set status = $5, answer = $6::jsonb where tenant = $1 and caller = $2 and path = $3 and key = $4",
);
const FREE = statement(
  "secrets.keyed_free",
  "delete from secrets.keyed_answer where tenant = $1 and caller = $2 and path = $3 and key = $4",
);
const FORGET = statement("secrets.keyed_forget", "delete from secrets.keyed_answer where claimed_at < now() - interval '24 hours'");

/** Of whoever fails so it is not known whether it was done: a fault that nobody foresaw may have come after the act. */
const leaveUnknown: ReadonlySet<ProblemCode> = new Set(["outcome_unknown", "internal"]);

/**
 * What is sent again with its `Idempotency-Key` is answered again and not done again. Answers are kept for 24 hours, by caller, path
 * and key, of what was done or may have been: what was refused or failed may be tried again with its key. Of the body, which holds a
 * value, only a MAC under Sallyport's secret is kept. Throws `idempotency_key_required` (400) for a malformed key, `in_progress` (409)
 * while the first one runs, `idempotency_conflict` (409) for another body, `outcome_unknown` (504) where nobody can tell what came of it.
 */
export const createKeyedAnswers = (parts: { readonly database: Database; readonly secrets: InstanceSecrets }) => {
  const { database } = parts;
  const keys = parts.secrets.map((secret) => deriveKey(secret, "secrets.keyed-answers.v1"));

  const macsOf = (request: Request, body: unknown): readonly string[] => {
    const text = canonicalJson([request.headers.get("if-match"), body]) ?? "";
    return keys.map((key) => createHmac("sha256", key).update(text).digest("base64url"));
  };

  /** What was answered before; `undefined`: the key is this call's now. */
  const claim = async (place: Place, macs: readonly string[]): Promise<Answer<unknown> | undefined> => {
    if ((await database.run(CLAIM, [...place, macs[0] ?? ""])).length > 0) return undefined;
    const [found] = await database.run(FIND, place);
    if (found !== undefined && !macs.includes(found.body_mac)) throw new Problem("idempotency_conflict");
    // One that has just failed is gone again: whoever asks once more has the key.
    if (found === undefined || found.status === null) throw new Problem("in_progress", { headers: { "retry-after": "1" } });
    return answer(found.answer, { status: found.status });
  };

  /** The handler, with keys: they may be left out. `passAgain` throws where whoever is to have a kept answer may not have it any more. */
  const keyed =
    <E>(handler: Handler<E, Caller>, passAgain: PassAgain<E>): Handler<E, Caller> =>
    async (call) => {
      const { request, caller, body } = call;
      const key = request.headers.get("idempotency-key");
      if (key === null) return handler(call);
      if (!idempotencyKey.safeParse(key).success)
        throw new Problem("idempotency_key_required", { detail: "Idempotency-Key is 1 to 128 of A-Z a-z 0-9 . _ : -" });
      const place: Place = [caller.tenant, keyHolderOf(caller), new URL(request.url).pathname, key];
      const known = await claim(place, macsOf(request, body));
      if (known !== undefined) {
        // Nothing is told of what a process left that died.
        if (known.value !== null) await passAgain(call, known.value);
        if (known.status === UNKNOWN) throw new Problem("outcome_unknown", { members: { ...(known.value as object | null) } });
        return known as Awaited<ReturnType<typeof handler>>;
      }
      // Where this fails the claim is left as by a process that died.
      const save = (status: number, value: unknown): Promise<unknown> =>
        database.run(SAVE, [...place, status, JSON.stringify(value)]).catch(() => undefined);
      try {
        const given = await handler(call);
        const [status, value] = given instanceof Answer ? [given.status ?? 200, given.value] : [200, given];
        await save(status, value);
        return given;
      } catch (error) {
        const { code, options } = asProblem(error);
        if (leaveUnknown.has(code)) await save(UNKNOWN, options.members ?? null);
        else await database.run(FREE, place).catch(() => undefined);
        throw error;
      }
    };

  /** Deletes answers older than 24 hours. */
  const forget = async (): Promise<void> => void (await database.run(FORGET));
  return { keyed, forget };
};
