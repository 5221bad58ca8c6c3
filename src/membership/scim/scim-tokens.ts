import { randomBytes } from "node:crypto";
import type { ReplyOf } from "#contract/endpoint.ts";
import { createScimToken, deleteScimToken, listScimTokens } from "#contract/scim-tokens.ts";
import { Problem } from "#contract/problem.ts";
import { isSecret, secretDigest } from "#authn/sealing/client-secret.ts";
import { answer } from "#http/serve.ts";
import { requireView } from "#membership/context/access.ts";
import { statement, type Sql } from "#store/database.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "#membership/graph-edit/write-as.ts";
import type { MembershipContext } from "#membership/context/context.ts";

type TokenRow = ReplyOf<typeof listScimTokens>["items"][number];

/** One in use and its successor. */
const MAX_TOKENS = 2;
const COLUMNS = "id as token_id, name, created_by, created_at, expires_at, last_used_at, problems";
const LOCK = statement("membership.scim_token_lock", "select pg_advisory_xact_lock(hashtextextended('membership.scim-token.' || $1, 0))");
const FORGET = statement("membership.scim_token_forget", "delete from membership.scim_token where tenant_id = $1 and expires_at <= now()");
const LIST = statement<TokenRow>(
  "membership.scim_tokens",
  `select ${COLUMNS} from membership.scim_token where tenant_id = $1 and expires_at > now() order by created_at, id`,
);
const INSERT = statement<TokenRow>(
  "membership.scim_token_insert",
  `insert into membership.scim_token (id, tenant_id, digest, name, created_by, expires_at)
   values ($1, $2, $3, $4, $5, now() + $6::int * interval '1 day') returning ${COLUMNS}`,
);
const DELETE = statement<{ id: string }>(
  "membership.scim_token_delete",
  "delete from membership.scim_token where id = $1 and tenant_id = $2 returning id",
);
const FIND = statement<{ tenant_id: string; digest: string; stale: boolean; problems: TokenRow["problems"] }>(
  "membership.scim_token_find",
  `select tenant_id, digest, problems, (last_used_at is null or last_used_at < now() - interval '1 hour') as stale
   from membership.scim_token where id = $1 and expires_at > now()`,
);
/** To the hour: who reads is no writer at every request. */
const USED = statement("membership.scim_token_used", "update membership.scim_token set last_used_at = now() where id = $1");

const MAX_PROBLEMS = 20;
/** Put before those that are there now: others report at the same time. */
const REPORT = statement(
  "membership.scim_token_report",
  `update membership.scim_token t set problems = $2::jsonb || coalesce((
     select jsonb_agg(o.p order by o.at) from jsonb_array_elements(t.problems) with ordinality o(p, at)
     where o.at < ${MAX_PROBLEMS} and o.p ->> 'detail' <> $2::jsonb -> 0 ->> 'detail'), '[]') where t.id = $1`,
);
const AGAIN_MS = 3_600_000;

/** Whose token a request has. */
export interface ScimClient {
  readonly tenant: string;
  readonly tokenId: string;
  readonly problems: TokenRow["problems"];
}

/** Notes at the token what was not done of a message; the same again once an hour. Cost: nothing, or one statement. */
export const reportProblem = async (sql: Sql, client: ScimClient, resource: string, words: string): Promise<void> => {
  const detail = words
    .replace(/\p{Cc}/gu, " ")
    .slice(0, 500)
    .toWellFormed();
  const at = new Date();
  const known = client.problems.find((one) => one.detail === detail);
  if (known !== undefined && at.getTime() - Date.parse(known.at) < AGAIN_MS) return;
  await sql.run(REPORT, [client.tokenId, JSON.stringify([{ at: at.toISOString(), resource, detail }])]);
};

const TOKEN = /^Bearer +scim_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/i;
const stranger = secretDigest("nobody's");

/** The tenant that a request's token is of, and what is noted at the token. Throws `unauthenticated`, `invalid_token`. Cost: one statement, two once an hour. */
export const requireScimTenant = async (sql: Sql, authorization: string | null): Promise<ScimClient> => {
  if (authorization === null) throw new Problem("unauthenticated", { headers: { "www-authenticate": 'Bearer realm="scim"' } });
  const [, id = "", secret = ""] = TOKEN.exec(authorization) ?? [];
  const [row] = await sql.run(FIND, [id]);
  if (!isSecret(row?.digest ?? stranger, secret) || row === undefined)
    throw new Problem("invalid_token", { headers: { "www-authenticate": 'Bearer realm="scim", error="invalid_token"' } });
  if (row.stale) await sql.run(USED, [id]);
  return { tenant: row.tenant_id, tokenId: id, problems: row.problems };
};

/** Tokens as administrators make, see and end them. */
export const serveScimTokens = (context: MembershipContext): void => {
  const { router, database } = context;
  const act = actOn(["scim", "manage"], "scim");

  router.serve(createScimToken, async (call) => {
    const { name, days, reason } = call.body;
    const id = randomBytes(8).toString("hex");
    const secret = randomBytes(32).toString("base64url");
    const { value, version } = await writeAs(context, act(call, "scim_token_made", undefined, reason), async ({ sql }, { tenant }) => {
      if (tenant === "*") throw new Problem("tenant_required");
      await sql.run(LOCK, [tenant]);
      await sql.run(FORGET, [tenant]);
      if ((await sql.run(LIST, [tenant])).length >= MAX_TOKENS)
        throw new Problem("conflict", { detail: `There are ${MAX_TOKENS} tokens, one in use and its successor: end one first.` });
      const [row] = await sql.run(INSERT, [id, tenant, secretDigest(secret), name, call.caller.sub, days]);
      if (row === undefined) throw new Error("an insert gives its row");
      return { value: row };
    });
    return answer({ ...value, token: `scim_${id}_${secret}` }, { headers: versioned(version) });
  });

  router.serve(listScimTokens, async (call) => {
    const { tenant } = await requireView(context, call, { type: "scim", action: "manage" });
    return { items: [...(await database.run(LIST, [tenant]))] };
  });

  router.serve(deleteScimToken, async (call) => {
    return takeAway(context, act(call, "scim_token_ended", undefined, call.query.reason), async ({ sql }, { tenant }) => {
      if ((await sql.run(DELETE, [call.params.token_id, tenant])).length === 0) throw new Problem("not_found");
    });
  });
};
