import { posix } from "node:path";
import { z } from "zod";
import { canonicalHost, isLoopbackHost, isTlsOrLoopback } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import { integer, originList, setting, type Environment, type SettingsOf, type SettingTable } from "#contract/setting.ts";
import type { Scheme } from "#contract/secret-schemes.ts";

/** A namespace as the server itself reads it: `./ns//x/` is `ns/x`, and `root` alone is the root, which is "". */
const canonicalNamespace = (text: string): string =>
  posix
    .join("/", text)
    .replaceAll(/^\/|\/$/g, "")
    .replace(/^root$/, "");

/** The rows of one KVv2 server, OpenBao or Vault: `VAULT_*` of both schemes, `VAULTA_*` and `VAULTB_*` of one. */
export const kvSettings = (prefix: "VAULT" | "VAULTA" | "VAULTB") => {
  const which = {
    VAULT: "both KVv2 schemes",
    VAULTA: "vaultA+kv2, in place of all VAULT_*",
    VAULTB: "vaultB+kv2, in place of all VAULT_*",
  }[prefix];
  const text = (name: string, description: string, secret = false) =>
    setting(`${prefix}_${name}`, z.string().min(1).max(4096).optional(), { description: `${description} (server of ${which})`, secret });
  return {
    url: setting(
      `${prefix}_URL`,
      z
        .url({ protocol: /^https?$/, error: "must be an http or https URL" })
        .transform((url) => new URL(url))
        .refine(({ origin, href }) => href === `${origin}/`, "must be an origin, e.g. https://bao.example:8200")
        .transform(({ origin }) => origin)
        .optional(),
      { description: `Address of the KVv2 server of ${which}. Unset: the scheme is not configured.` },
    ),
    token: text("TOKEN", "Its token", true),
    tokenFile: text("TOKEN_FILE", "File with its token, read again when the token is refused"),
    roleId: text("ROLE_ID", "Role id of AppRole, in place of a token"),
    secretId: text("SECRET_ID", "Secret id of AppRole", true),
    secretIdFile: text("SECRET_ID_FILE", "File with the secret id, read at each sign-in: so it can be rotated"),
    secretIdWrapped: text(
      "SECRET_ID_WRAPPED",
      "Wrapping token of a secret id, good for one start: one that was used already stops it",
      true,
    ),
    approleMount: setting(`${prefix}_APPROLE_MOUNT`, z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, "must be the name of a mount"), {
      description: `Where AppRole is mounted (server of ${which})`,
      default: "approle",
    }),
    namespace: setting(
      `${prefix}_NAMESPACE`,
      z
        .string()
        .regex(/^[A-Za-z0-9._/-]{1,200}$/, "must be a namespace's path")
        .transform(canonicalNamespace)
        .optional(),
      {
        description: `Namespace of all calls (server of ${which})`,
      },
    ),
    allowedOrigins: setting(`${prefix}_ALLOWED_ORIGINS`, originList("https://bao-2.example:8200"), {
      description: `Origins, beside its own address, that it may send a call on to, for the same path (server of ${which})`,
      default: "",
    }),
    flavor: setting(`${prefix}_FLAVOR`, z.enum(["auto", "openbao", "vault"]), {
      description: `What a standby that is behind does: openbao waits first, then forwards; vault and auto forward at once (server of ${which})`,
      default: "auto",
    }),
    caFile: text("CACERT", "PEM file of the authorities that its certificate may have; unset: the system's"),
    timeoutMs: setting(`${prefix}_TIMEOUT_MS`, integer(100, 60_000), {
      description: `Longest wait for one answer (server of ${which})`,
      unit: "ms",
      default: "3000",
    }),
  } satisfies SettingTable;
};

export type KvConfig = SettingsOf<ReturnType<typeof kvSettings>>;
export interface KvConfigs {
  readonly vault: KvConfig;
  readonly vaultA: KvConfig;
  readonly vaultB: KvConfig;
}

type Prefix = Parameters<typeof kvSettings>[0];
/** A server that is configured, and what its settings begin with. */
export type KvServer = KvConfig & { readonly url: string; readonly prefix: Prefix };

const issuesOf = (prefix: string, config: KvConfig, environment: Environment): readonly Issue[] => {
  const issues: Issue[] = [];
  const need = (holds: boolean, name: string, message: string): void => void (holds || issues.push({ path: `${prefix}_${name}`, message }));
  const hasToken = config.token !== undefined || config.tokenFile !== undefined;
  const secretIds = [config.secretId, config.secretIdFile, config.secretIdWrapped].filter((one) => one !== undefined);
  const hasRole = config.roleId !== undefined || secretIds.length > 0;
  if (config.url === undefined) {
    need(!hasToken && !hasRole, "URL", "is needed with a token or an AppRole");
    return issues;
  }
  need(
    environment !== "production" || isTlsOrLoopback(config.url),
    "URL",
    "must be https unless on loopback, where ENVIRONMENT is production",
  );
  need(hasToken || hasRole, "TOKEN", "or TOKEN_FILE, or ROLE_ID with SECRET_ID, SECRET_ID_FILE or SECRET_ID_WRAPPED is needed");
  need(!(hasToken && hasRole), "TOKEN", "and an AppRole exclude each other");
  need(config.token === undefined || config.tokenFile === undefined, "TOKEN", "and TOKEN_FILE exclude each other");
  need(secretIds.length < 2, "SECRET_ID", "SECRET_ID_FILE and SECRET_ID_WRAPPED exclude each other");
  need(!hasRole || config.roleId !== undefined, "ROLE_ID", "is needed with a secret id");
  need(!hasRole || secretIds.length > 0, "SECRET_ID", "or SECRET_ID_FILE or SECRET_ID_WRAPPED is needed with ROLE_ID");
  return issues;
};

const isSet = (config: KvConfig): boolean =>
  [config.url, config.token, config.tokenFile, config.roleId, config.secretId, config.secretIdFile, config.secretIdWrapped].some(
    (value) => value !== undefined,
  );

/** The server of each scheme that has one; a scheme's own group stands in place of the whole common one. */
export const kvServersOf = (
  configs: KvConfigs,
  environment: Environment,
): { readonly servers: ReadonlyMap<Scheme, KvServer>; readonly issues: readonly Issue[] } => {
  const servers = new Map<Scheme, KvServer>();
  // One object a group: what is kept of a server is kept of both schemes that it serves.
  const made = new Map<KvConfig, KvServer>();
  for (const [scheme, own, ownPrefix] of [
    ["vaulta+kv2", configs.vaultA, "VAULTA"],
    ["vaultb+kv2", configs.vaultB, "VAULTB"],
  ] as const) {
    const [config, prefix]: [KvConfig, Prefix] = isSet(own) ? [own, ownPrefix] : [configs.vault, "VAULT"];
    if (config.url === undefined) continue;
    const server = made.get(config) ?? { ...config, url: config.url, prefix };
    made.set(config, server);
    servers.set(scheme, server);
  }
  const issues = (["VAULT", "VAULTA", "VAULTB"] as const).flatMap((prefix, at) =>
    issuesOf(prefix, [configs.vault, configs.vaultA, configs.vaultB][at] as KvConfig, environment),
  );
  return { servers, issues };
};

/** What tells two servers apart: the same mount of the same one would be one secret under two names. */
export const placeOf = (server: KvServer): string => {
  const place = new URL(server.url);
  // This machine has several names.
  place.hostname = isLoopbackHost(place.hostname) ? "localhost" : canonicalHost(place.hostname);
  return `${place.origin} ${server.namespace ?? ""}`;
};

/** The same by what the server says of itself in `sys/health`, however many names its address has; `undefined`: it does not say. */
export const storeOf = (server: KvServer, { cluster_id: cluster }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof cluster === "string" && cluster !== "" ? `${cluster} ${server.namespace ?? ""}` : undefined;
