import { keyHolderOf } from "#authn/model/caller.ts";
import { Problem } from "#contract/problem.ts";
import { statement, type Sql, type TransactionSql } from "#store/database.ts";
import type { TaskCaller } from "./task-context.ts";

/** A request that may be sent again. */
export interface KeyedRequest {
  /** Id of the run. */
  readonly scope: string;
  readonly key: string;
  /** Digest of the body. */
  readonly bodyHash: string;
  readonly by: TaskCaller;
}

const FIND = statement<{ body_hash: string; answer: unknown }>(
  "crud.wf_known_key",
  "select body_hash, answer from crud.wf_idempotency where tenant = $1 and scope = $2 and caller = $3 and key = $4",
);
const STORE = statement(
  "crud.wf_store_key",
  "insert into crud.wf_idempotency (tenant, scope, caller, key, body_hash, answer, at) values ($1, $2, $3, $4, $5, $6::json, crud.wf_now())",
);

const keyOf = ({ scope, key, by }: KeyedRequest) => [by.caller.tenant, scope, keyHolderOf(by.caller), key];

/** The first answer; undefined: the key is new. Throws `idempotency_mismatch` for a key with another body. */
export const findAnswer = async (sql: Sql, request: KeyedRequest): Promise<{ readonly answer: unknown } | undefined> => {
  const [known] = await sql.run(FIND, keyOf(request));
  if (known !== undefined && known.body_hash !== request.bodyHash) throw new Problem("idempotency_mismatch");
  return known;
};

/** With the change that it answers. */
export const storeAnswer = (sql: TransactionSql, request: KeyedRequest, answer: unknown): void =>
  sql.post(STORE, [...keyOf(request), request.bodyHash, JSON.stringify(answer)]);
