import { z } from "zod";
import { tenantId } from "#contract/ids.ts";
import { commaList, flag, integer, setting, weakSecret, type Environment, type SettingsOf, type SettingTable } from "#contract/setting.ts";
import { PLATFORM } from "#contract/secret-schemes.ts";
import { secretWeakness } from "#contract/weak-secret.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { createResourceRef, parseTenantSalt, type ResourceRef } from "#events/model/resource-ref.ts";
import { parseAllowedMounts, type AllowedMounts } from "./model/allowed-mounts.ts";
import { createNarrowPlaces, createTenantGuard, ownerOf, type NarrowPlaces, type TenantGuard } from "./model/tenant-guard.ts";
import { parseSecretUri, type SecretPrefix } from "./model/secret-uri.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { parseSchemeAliases, type SchemeTable } from "./model/uri-schemes.ts";

/** A salt; what is wrong with it is told as of `name`. */
const readSalt = (text: string, context: z.RefinementCtx, name = ""): Buffer => {
  try {
    return parseTenantSalt(text);
  } catch (error) {
    context.addIssue(error instanceof RangeError ? `${name}${error.message}` : "cannot be read");
    return z.NEVER;
  }
};

/** `kid=salt,...`; the salt as TENANT_SALT, without a comma. */
const previousSalts = (): z.ZodType<readonly { readonly kid: string; readonly salt: Buffer }[]> =>
  commaList().transform((items, context) =>
    items.map((item) => {
      const [, kid, text = ""] = /^([A-Za-z0-9]{1,8})=(.*)$/s.exec(item) ?? [];
      if (kid !== undefined) return { kid, salt: readSalt(text, context, `${kid} `) };
      context.addIssue("an item is not kid=salt");
      return z.NEVER;
    }),
  );

const salt = z
  .string()
  .superRefine((text, context) => void readSalt(text, context))
  .optional();

/** Settings of the secrets service. */
export const secretsSettings = {
  filePath: setting("YAML_VAULT_PATH", z.string().min(1).optional(), {
    description: "The secrets file. Unset: secrets.yaml in the data folder. Mode 0600; written in dev and test only.",
  }),
  requireAuth: setting("SECRETS_API_REQUIRE_AUTH", flag(), {
    description:
      "Whether a request needs a token. false is honoured in dev and test only: no token is then service:anonymous of TENANT_ID.",
    default: "true",
  }),
  enforceScopes: setting("SECRETS_ENFORCE_SCOPES", flag(), {
    description:
      "Whether a token needs the operation's scope. false is honoured in dev and test only; decisions are asked for all the same.",
    default: "true",
  }),
  workloads: setting("SECRETS_WORKLOADS", commaList(), {
    description: "Internal services that read values to use them in a call, and whose word about that call counts.",
    default: "service:crud,service:gateway,service:membership",
  }),
  agentValueReads: setting("SECRETS_AGENT_VALUE_READS", z.enum(["deny", "pdp"]), {
    description: "Whether agents are refused every raw value (deny), or policy decides (pdp).",
    default: "deny",
  }),
  revealPurpose: setting("SECRETS_REVEAL_PURPOSE", z.enum(["required", "optional"]).optional(), {
    description:
      "Whether a person who reads a value must say why (X-Purpose, 10 to 200 characters). Unset: required, in dev and test optional.",
  }),
  eventsStream: setting("SECRETS_EVENTS_SSE", flag().optional(), {
    description: "Whether acts on secrets are told as a stream of server-sent events. Unset: in dev and test only.",
  }),
  cacheSeconds: setting("SECRETS_CACHE_TTL_SECONDS", integer(0, 300), {
    description:
      "How long a value of a KVv2 server may be kept in memory, sealed. What Sallyport changes is seen at once, what others change there after that time. 0: never.",
    unit: "s",
    default: "30",
  }),
  schemeAliases: setting("SECRETS_SCHEME_ALIASES", commaList(), {
    description: "Further names of schemes, name=scheme, replaced while a URI is read.",
    default: "openbao+kv2=vaultA+kv2,vault+kv2=vaultB+kv2",
  }),
  tenantId: setting("TENANT_ID", tenantId.optional(), {
    description: "The only tenant that is served. Unset: the token's tenant selects in TENANT_ALLOWED_MOUNTS.",
  }),
  allowedMounts: setting("TENANT_ALLOWED_MOUNTS", z.string().optional(), {
    description:
      "Where a tenant's secrets may lie: scheme://mount[/prefix...] as a comma list with TENANT_ID, or JSON of lists by tenant without, and under platform what systems for several tenants use. No two overlap. Unset: nothing is allowed; compulsory for crud and membership apart from secrets.",
  }),
  tenantSalt: setting("TENANT_SALT", salt, {
    description:
      "Key of the references by which secrets are named in records: text, or base64: or hex: and then bytes, 32 at least. Unset: records name no secret.",
    secret: true,
  }),
  tenantSaltKid: setting("TENANT_SALT_KID", z.string().regex(/^[A-Za-z0-9]{1,8}$/, "must be 1 to 8 letters or digits"), {
    description: "Name of TENANT_SALT inside the references.",
    default: "1",
  }),
  previousSalts: setting("TENANT_SALT_PREVIOUS", previousSalts(), {
    description: "Salts that TENANT_SALT took the place of, kid=salt,...: what was recorded under them is still found by its URI.",
    secret: true,
    default: "",
  }),
} satisfies SettingTable;

export type SecretsConfig = SettingsOf<typeof secretsSettings>;

/** What the settings mean once they are read together. */
export interface SecretsPolicy {
  readonly schemes: SchemeTable;
  readonly guard: TenantGuard;
  readonly narrow: NarrowPlaces;
  readonly isPlatform: (place: SecretPrefix) => boolean;
  readonly hasMounts: boolean;
  readonly tenantId: string | undefined;
  /** Whose secrets `service:anonymous` asks for, which a request without token then is. */
  readonly anonymousTenant: string | undefined;
  readonly enforceScopes: boolean;
  readonly workloads: ReadonlySet<string>;
  readonly agentsMayAsk: boolean;
  readonly purposeRequired: boolean;
}

/** Whose secrets may be asked for without a token; nobody's in production, whatever is set. */
export const anonymousTenantOf = (config: SecretsConfig, environment: Environment): string | undefined =>
  environment === "production" || config.requireAuth ? undefined : config.tenantId;

/** Reads the settings together; every fault with its variable, for the start to refuse with. */
export const readSecretsPolicy = (
  config: SecretsConfig,
  environment: Environment,
  /** The store of each scheme that has one, by its address or by what it reports of itself. */
  stores: ReadonlyMap<Scheme, string> = new Map(),
  operator: () => string | undefined = () => undefined,
): { readonly policy: SecretsPolicy; readonly mounts: AllowedMounts; readonly issues: readonly Issue[] } => {
  const isOpen = environment !== "production";
  const issues: Issue[] = [];
  const need = (holds: boolean, path: string, message: string): void => void (holds || issues.push({ path, message }));
  need(isOpen || config.requireAuth, "SECRETS_API_REQUIRE_AUTH", "false is for ENVIRONMENT dev and test only");
  need(isOpen || config.enforceScopes, "SECRETS_ENFORCE_SCOPES", "false is for ENVIRONMENT dev and test only");
  need(
    config.requireAuth || !config.enforceScopes,
    "SECRETS_ENFORCE_SCOPES",
    "cannot be true while SECRETS_API_REQUIRE_AUTH is false: no token, no scopes",
  );
  need(config.requireAuth || config.tenantId !== undefined, "TENANT_ID", "is needed while SECRETS_API_REQUIRE_AUTH is false");
  need(config.filePath?.endsWith(".age") !== true, "YAML_VAULT_PATH", "encrypted files (.age) are not supported");
  need(
    isOpen || config.workloads.every((id) => id.startsWith("service:")),
    "SECRETS_WORKLOADS",
    "must name services (service:..) alone: whoever stands there reads values",
  );
  const salt = config.tenantSalt?.replace(/^(?:base64|hex):/, "");
  issues.push(...weakSecret("TENANT_SALT", salt, secretWeakness, environment));
  const kids = [config.tenantSaltKid, ...config.previousSalts.map(({ kid }) => kid)];
  need(new Set(kids).size === kids.length, "TENANT_SALT_PREVIOUS", "names each kid once, and not TENANT_SALT_KID");
  need(config.tenantSalt !== undefined || config.previousSalts.length === 0, "TENANT_SALT", "is needed with TENANT_SALT_PREVIOUS");
  const { schemes, issues: aliasFaults } = parseSchemeAliases(config.schemeAliases, "SECRETS_SCHEME_ALIASES");
  const tenantId = config.tenantId;
  const { mounts, issues: mountFaults } = parseAllowedMounts({ text: config.allowedMounts, tenantId, schemes, servers: stores });
  return {
    policy: {
      schemes,
      guard: createTenantGuard({ mounts, tenantId, operator }),
      narrow: createNarrowPlaces({ mounts, tenantId, operator }),
      isPlatform: (place) => ownerOf(mounts, place) === PLATFORM,
      hasMounts: [...mounts.values()].some((places) => places.length > 0),
      tenantId,
      anonymousTenant: anonymousTenantOf(config, environment),
      enforceScopes: config.enforceScopes,
      workloads: new Set(config.workloads),
      agentsMayAsk: config.agentValueReads === "pdp",
      purposeRequired: (config.revealPurpose ?? (isOpen ? "optional" : "required")) === "required",
    },
    mounts,
    issues: [...issues, ...aliasFaults, ...mountFaults],
  };
};

/** Whose place a secret URI names: a tenant's, or the platform's; `undefined`: nobody's, or it is none. */
export const secretOwnerOf = (
  config: SecretsConfig,
  environment: Environment,
  stores: ReadonlyMap<Scheme, string>,
): ((uri: string) => string | undefined) => {
  const { policy, mounts } = readSecretsPolicy(config, environment, stores);
  return (uri) => {
    try {
      return ownerOf(mounts, parseSecretUri(uri, policy.schemes));
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  };
};

/** How records name a secret; `undefined` without TENANT_SALT. */
export const resourceRefOf = (config: SecretsConfig): ResourceRef | undefined =>
  config.tenantSalt === undefined ? undefined : createResourceRef({ salt: parseTenantSalt(config.tenantSalt), kid: config.tenantSaltKid });

/** How records named secrets under earlier salts. */
export const previousRefsOf = (config: SecretsConfig): readonly ResourceRef[] => config.previousSalts.map(createResourceRef);
