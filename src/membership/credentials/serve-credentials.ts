import { pageOf } from "#authn/sealing/sealed-cursors.ts";
import { randomBytes, randomUUID } from "node:crypto";
import { secretDigest } from "#authn/sealing/client-secret.ts";
import { agentScopes, serviceScopes } from "#authn/model/scopes.ts";
import { createCredential, dropCredential, listCredentials, rotateCredential, type CredentialView } from "#contract/credentials.ts";
import { Problem } from "#contract/problem.ts";
import { answer } from "#http/serve.ts";
import { statement, type Sql } from "#store/database.ts";
import { requireView } from "#membership/context/access.ts";
import { requireOwnNode } from "#membership/graph-edit/edits.ts";
import { versioned } from "#membership/context/graph-answers.ts";
import { actOn, takeAway, writeAs } from "#membership/graph-edit/write-as.ts";
import type { NodeRow } from "#membership/graph/put-node.ts";
import { requirePlatformFor } from "#membership/graph/role-watch.ts";
import type { MembershipContext } from "#membership/context/context.ts";

type CredentialRow = Omit<CredentialView, "credential_id"> & { readonly id: string };

const COLUMNS = "c.id, c.client_id, c.scopes, c.created_by, c.created_at, c.expires_at";
const FROM = `membership.client_credential c join membership.node n on n.id = c.client_id and ($1::text = '*' or n.tenant_id = $1)
  and c.expires_at > now()`;
/** Goes on behind a time, as text since a page knows no microseconds, and an id. */
const LIST = statement<CredentialRow & { readonly made: string }>(
  "membership.credentials",
  `select ${COLUMNS}, c.created_at::text as made from ${FROM} where ($2::text is null or c.client_id = $2)
     and ($3::timestamptz is null or (c.created_at, c.id) > ($3, $4::uuid))
   order by c.created_at, c.id limit $5`,
);
const ONE = statement<CredentialRow>("membership.credential", `select ${COLUMNS} from ${FROM} where c.id::text = $2`);
/** Those that have ended go with the next one that is made. */
const FORGET = statement(
  "membership.credentials_forget",
  "delete from membership.client_credential where client_id = $1 and expires_at <= now()",
);
const COUNT = statement<{ n: number }>(
  "membership.credentials_count",
  "select count(*)::int as n from membership.client_credential where client_id = $1",
);
const ADD = statement<CredentialRow>(
  "membership.credential_add",
  `insert into membership.client_credential as c (id, client_id, secret_sha256, scopes, created_by, expires_at)
   values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
);
const SET_SCOPES = statement("membership.credential_scopes", "update membership.client_credential set scopes = $2 where client_id = $1");
const SHORTEN = statement(
  "membership.credential_shorten",
  `update membership.client_credential set expires_at = least(expires_at, now() + make_interval(secs => $2)) where id = $1`,
);
const DROP = statement("membership.credential_drop", "delete from membership.client_credential where id = $1");

const YEAR_MS = 365 * 86_400_000;
const AT_A_TIME = 2;
const prefixes: Readonly<Record<string, string>> = { AIAgent: "agent:", Service: "service:" };

const viewOf = ({ id, ...row }: CredentialRow): CredentialView => ({ credential_id: id, ...row });
const wrong = (path: string, message: string): Problem => new Problem("unprocessable", { errors: [{ path, message }] });

/** Agents and services of the tenant, by the names under which everybody takes them for one. */
const requireClient = (node: NodeRow): void => {
  const prefix = prefixes[node.kind];
  if (prefix === undefined) throw new Problem("not_found");
  if (!node.id.startsWith(prefix)) throw wrong("/client_id", `the id of a client begins with ${prefix}`);
};

const scopesFor = (kind: string, asked: readonly string[] | undefined): readonly string[] => {
  const max: readonly string[] = kind === "AIAgent" ? agentScopes : serviceScopes;
  const scopes = asked ?? (kind === "AIAgent" ? max : []);
  const wider = scopes.filter((scope) => !max.includes(scope));
  if (wider.length > 0 || scopes.length === 0) throw wrong("/scopes", `must be of ${max.join(", ")}`);
  return [...new Set(scopes)];
};

/** Secrets of agents and service clients: made, shown once, put in each other's place, ended. All token endpoints take them at once. */
export const serveCredentials = (context: MembershipContext): void => {
  const { router, database } = context;
  const act = actOn(["credentials", "manage"], "credentials");

  const endOf = (asked: string | undefined): Date => {
    const now = context.now().getTime();
    const end = asked === undefined ? now + YEAR_MS : Date.parse(asked);
    if (end <= now || end > now + YEAR_MS) throw wrong("/expires_at", "must be within a year");
    return new Date(end);
  };

  const add = async (
    sql: Sql,
    given: { readonly clientId: string; readonly scopes: readonly string[]; readonly by: string; readonly expiresAt: Date },
  ) => {
    const secret = `sallyport_${randomBytes(32).toString("base64url")}`;
    const { clientId, scopes, by, expiresAt } = given;
    await requirePlatformFor(sql, by, clientId);
    const [row] = await sql.run(ADD, [randomUUID(), clientId, secretDigest(secret), [...scopes], by, expiresAt]);
    const [count] = await sql.run(COUNT, [clientId]);
    if (row === undefined || (count?.n ?? 0) > AT_A_TIME)
      throw new Problem("conflict", { detail: "A client has two credentials at a time: end one first." });
    return { ...viewOf(row), client_secret: secret };
  };
  const shown = ({ value, version }: { readonly value: CredentialView & { readonly client_secret: string }; readonly version: bigint }) =>
    answer(value, { status: 201, headers: { "cache-control": "no-store", ...versioned(version) } });

  router.serve(createCredential, async ({ caller, body, correlationId }) => {
    const { client_id: clientId, reason } = body;
    const made = await writeAs(context, act({ caller, correlationId }, "credential_created", clientId, reason), async (tx, scope) => {
      const node = await requireOwnNode(tx.sql, scope, clientId);
      requireClient(node);
      const scopes = scopesFor(node.kind, body.scopes);
      await tx.sql.run(FORGET, [clientId]);
      await tx.sql.run(SET_SCOPES, [clientId, [...scopes]]);
      return { value: await add(tx.sql, { clientId, scopes, by: caller.sub, expiresAt: endOf(body.expires_at) }) };
    });
    return shown(made);
  });

  router.serve(listCredentials, async (call) => {
    const scope = await requireView(context, call, { type: "credentials", action: "view" });
    const { limit, cursor, client_id: clientId } = call.query;
    const binding = ["credentials", call.caller.sub, scope.tenant, clientId ?? ""];
    const [made = null, id = null] = cursor === undefined ? [] : context.cursors.open(cursor, binding).split("/");
    const rows = await database.run(LIST, [scope.tenant, clientId ?? null, made, id, limit + 1]);
    const { page, last } = pageOf(rows, limit);
    return {
      items: page.map(({ made: _made, ...row }) => viewOf(row)),
      next_cursor: last && context.cursors.seal(`${last.made}/${last.id}`, binding),
    };
  });

  const requireCredential = async (sql: Sql, tenant: string, id: string): Promise<CredentialRow> => {
    const [row] = await sql.run(ONE, [tenant, id]);
    if (row === undefined) throw new Problem("not_found");
    return row;
  };

  router.serve(rotateCredential, async ({ caller, params, body, correlationId }) => {
    const { credential_id: id } = params;
    const made = await writeAs(context, act({ caller, correlationId }, "credential_rotated", id, body.reason), async (tx, scope) => {
      const { client_id: clientId } = await requireCredential(tx.sql, scope.tenant, id);
      // The client's row first, as whoever makes one takes it: two at a time stay two.
      await requireOwnNode(tx.sql, scope, clientId);
      const old = await requireCredential(tx.sql, scope.tenant, id);
      if (body.overlap_s === 0) await tx.sql.run(DROP, [id]);
      else await tx.sql.run(SHORTEN, [id, body.overlap_s]);
      await tx.sql.run(FORGET, [clientId]);
      return { value: await add(tx.sql, { clientId, scopes: old.scopes, by: caller.sub, expiresAt: endOf(body.expires_at) }) };
    });
    return shown(made);
  });

  router.serve(dropCredential, async ({ caller, params, query, correlationId }) => {
    const { credential_id: id } = params;
    return takeAway(context, act({ caller, correlationId }, "credential_ended", id, query.reason), async (tx, scope) => {
      const { client_id: clientId } = await requireCredential(tx.sql, scope.tenant, id);
      await requirePlatformFor(tx.sql, caller.sub, clientId);
      await tx.sql.run(DROP, [id]);
    });
  });
};
