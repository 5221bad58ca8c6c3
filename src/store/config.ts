import { z } from "zod";
import { isLoopbackHost } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import { integer, setting, weakSecret, type Environment, type SettingsOf, type SettingTable } from "#contract/setting.ts";
import { exampleWeakness } from "#contract/weak-secret.ts";

const postgresUrl = z.url({ protocol: /^postgres(?:ql)?$/, error: "must be a postgres:// URL" });

const redisUrl = z.url({ protocol: /^rediss?$/, error: "must be a redis:// or rediss:// URL" });

/** Where everything is kept. */
export const storeSettings = {
  databaseUrl: setting("DATABASE_URL", postgresUrl.optional(), {
    description: "PostgreSQL 15 or newer. Unset: the embedded database in the data folder, for one process.",
    secret: true,
  }),
  databaseListenUrl: setting("DATABASE_LISTEN_URL", postgresUrl.optional(), {
    description: "The same PostgreSQL without a pooler in between, for LISTEN. Unset: DATABASE_URL.",
    secret: true,
  }),
  databasePoolSize: setting("DATABASE_POOL_SIZE", integer(1, 500), {
    description: "Most connections of this process to PostgreSQL, the one for LISTEN apart.",
    unit: "connections",
    default: "10",
  }),
  redisUrl: setting("REDIS_URL", redisUrl.optional(), {
    description: "Redis that the gateway's replicas share, redis:// or rediss:// (TLS). Unset: none is used.",
    secret: true,
  }),
  redisCaFile: setting("REDIS_CA_FILE", z.string().min(1).optional(), {
    description: "Authority (PEM) that signed Redis's certificate. Unset: those of the system.",
  }),
} satisfies SettingTable;

/** Those with which a server is known for the one that is meant, or at least nobody else reads along. */
const withTls: ReadonlySet<string> = new Set(["require", "verify-ca", "verify-full"]);

/** Parameters that say what the URL has a part for. */
const inUrl: ReadonlySet<string> = new Set(["host", "port", "user", "password"]);
const partOf = (url: URL, name: string): string =>
  ({ host: url.hostname, port: url.port, user: url.username, password: url.password })[name] ?? "";

/** What production asks of a PostgreSQL on another machine: TLS, and no example's password. */
const serverIssues = (path: string, text: string | undefined, environment: Environment): readonly Issue[] => {
  const url = text === undefined ? null : URL.parse(text);
  if (environment !== "production" || url === null) return [];
  const query = url.searchParams;
  const reported = [...new Set(query.keys())];
  // The driver goes by the last of them, and by a parameter rather than by the URL's own part: nobody should have to know that.
  const twice = reported.filter((name) => query.getAll(name).length > 1 || (inUrl.has(name) && partOf(url, name) !== ""));
  if (twice.length > 0) return twice.map((name): Issue => ({ path, message: `says ${name} twice` }));
  const host = query.get("host") ?? url.hostname;
  const isHere = host.startsWith("/") || (host !== "" && isLoopbackHost(host));
  if (isHere) return [];
  const issues: Issue[] = [];
  if (!withTls.has(query.get("sslmode") ?? ""))
    issues.push({ path, message: "must say sslmode=verify-full (or require) unless on loopback, where ENVIRONMENT is production" });
  const password = url.password === "" ? (query.get("password") ?? undefined) : decodeURIComponent(url.password);
  return [...issues, ...weakSecret(path, password, exampleWeakness, environment)];
};

/** What no single row can say. */
export const storeIssues = (config: SettingsOf<typeof storeSettings>, environment: Environment): readonly Issue[] => [
  ...serverIssues("DATABASE_URL", config.databaseUrl, environment),
  ...serverIssues("DATABASE_LISTEN_URL", config.databaseListenUrl, environment),
];
