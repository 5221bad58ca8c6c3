import type { IncomingHttpHeaders } from "node:http";
import { canonicalise } from "#gateway/model/canonical-path.ts";
import { createSegmentTrie } from "#gateway/routes/segment-trie.ts";
import { parsePattern } from "#gateway/routes/route-pattern.ts";
import { createCachedSessionStore } from "#gateway/sessions/cached-session-store.ts";
import { createDatabaseSessionStore } from "#gateway/sessions/database-session-store.ts";
import { hashSid, isSid } from "#gateway/sessions/session-id.ts";
import { createSessionKeys } from "#gateway/sessions/session-keys.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import { createPostgres } from "#store/postgres.ts";
import { silentLog } from "#telemetry/log.ts";
import { parseSecret } from "#authn/sealing/instance-secret.ts";
import { routePatterns } from "./route-table.ts";

/** What a reference program is told by its environment. */
export interface ChecksEnvironment {
  readonly DATABASE_URL: string;
  readonly SESSION_SECRETS: string;
  readonly COOKIE: string;
  readonly ORIGIN: string;
  readonly ROUTES: string;
}

export interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

/** 200 with the session, or the status of the refusal. */
export type Check = (asked: Asked) => Promise<{ readonly status: number; readonly record?: SessionRecord }>;

/**
 * The checks of the gateway's proxied request, and no more, for the references: path, route match, session from the same
 * store behind the same cache, its limits, CSRF headers, Origin and Sec-Fetch-Site.
 */
export const createChecks = async (environment: ChecksEnvironment): Promise<Check> => {
  const secret = parseSecret(environment.SESSION_SECRETS);
  if (secret === undefined) throw new TypeError("SESSION_SECRETS");
  const database = await createPostgres({ url: environment.DATABASE_URL, poolSize: 10, log: silentLog });
  const store = await createCachedSessionStore(createDatabaseSessionStore(database), () => new Date());
  const keys = createSessionKeys([secret]);
  const trie = createSegmentTrie<readonly string[]>();
  for (const { path, methods } of routePatterns(environment.ROUTES)) {
    const pattern = parsePattern(path);
    if (typeof pattern !== "string") trie.add(pattern, methods);
  }
  const cookie = new RegExp(`(?:^|; *)${environment.COOKIE}=([^;]*)`);

  return async ({ method, target, headers }) => {
    const { path } = canonicalise(target);
    const hit = trie.find(path);
    if (hit === undefined) return { status: 404 };
    if (!hit.values.some((methods) => methods.includes(method))) return { status: 405 };
    const sid = cookie.exec(headers.cookie ?? "")?.[1] ?? "";
    const record = isSid(sid) ? await store.read(hashSid(sid)) : undefined;
    const now = Date.now();
    if (record === undefined || record.idleExpiresAt.getTime() <= now || record.absoluteExpiresAt.getTime() <= now) return { status: 401 };
    const site = headers["sec-fetch-site"];
    if (site !== undefined && site !== "same-origin") return { status: 403 };
    if (method === "GET" || method === "HEAD") return { status: 200, record };
    const token = headers["x-csrf-token"];
    const isOwn =
      typeof token === "string" &&
      token === headers["x-csrftoken"] &&
      headers["x-requested-with"] === "XMLHttpRequest" &&
      (headers.origin === undefined || headers.origin === environment.ORIGIN) &&
      keys.isCsrfToken(record, token);
    return isOwn ? { status: 200, record } : { status: 403 };
  };
};
