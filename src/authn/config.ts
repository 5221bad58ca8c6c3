import { z } from "zod";
import { notPersons, tenantId } from "#contract/ids.ts";
import { isTlsOrLoopback } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import { commaList, flag, setting, weakSecret, type SettingsOf, type SettingTable } from "#contract/setting.ts";
import { keyWeakness, secretWeakness } from "#contract/weak-secret.ts";
import { agentClientsText } from "./exchange/agent-clients.ts";
import { assuranceMapText, defaultAssuranceMap, type AssuranceMap } from "./model/assurance.ts";
import type { IdentityMapping } from "./model/claims.ts";
import { parseSecret } from "./sealing/instance-secret.ts";

const issuerUrl = z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).refine((text) => {
  const url = URL.parse(text);
  return url !== null && url.search === "" && url.hash === "" && url.username === "";
}, "must be an issuer's address, without query, fragment or user");

const secretList = commaList().transform((items, context) =>
  items.map((item, index) => {
    const secret = parseSecret(item);
    if (secret === undefined) context.addIssue({ code: "custom", message: `item ${index + 1} must be base64 of 32 bytes` });
    return secret ?? new Uint8Array();
  }),
) as unknown as z.ZodType<readonly Uint8Array[]>;

const issuerList = commaList().refine((items) => items.every((item) => issuerUrl.safeParse(item).success), "must be issuers' addresses");

/** Whether subjects behind this prefix may come to be taken for what is no person: it holds the beginning of such ids, or begins one. */
const mayNameOthers = (prefix: string): boolean =>
  prefix !== "" && notPersons.some((word) => prefix.toLowerCase().startsWith(word) || word.startsWith(prefix.toLowerCase()));

/** Sign-in, tokens and keys. */
export const authnSettings = {
  sessionSecrets: setting("SESSION_SECRETS", secretList, {
    description:
      "Root secrets of Sallyport, each base64 of 32 random bytes. The first writes, all read; every key that seals or signs is derived from them. In dev and test one is made in the data folder when this is unset.",
    secret: true,
    default: "",
  }),
  oidcIssuer: setting("OIDC_ISSUER", issuerUrl.optional(), {
    description: "OpenID provider at which people sign in. Unset in dev and test: the embedded issuer.",
  }),
  oidcClientId: setting("OIDC_CLIENT_ID", z.string().min(1), {
    description: "Client id of this deployment at the OpenID provider.",
    default: "sallyport-web",
  }),
  oidcClientSecret: setting("OIDC_CLIENT_SECRET", z.string().min(1).optional(), {
    description: "Client secret of this deployment at the OpenID provider. Derived for the embedded issuer.",
    secret: true,
  }),
  oidcCaFile: setting("OIDC_CA_FILE", z.string().min(1).optional(), {
    description:
      "Authority (PEM) that signed the certificate of the OpenID provider (OIDC_ISSUER), for every call to it; read at start, and no other is trusted then. Unset: those of the system.",
  }),
  oidcScopes: setting("OIDC_SCOPES", commaList(), {
    description: "Scopes asked of the OpenID provider at sign-in.",
    default: "openid,profile,offline_access",
  }),
  oidcResourceIndicators: setting("OIDC_RESOURCE_INDICATORS", flag().optional(), {
    description:
      "Whether sign-in names the audiences of rows with session_passthrough as `resource` (RFC 8707), so that the session's token is for them. Unset: at the embedded issuer alone, because not every provider takes it.",
  }),
  oidcSubjectPrefix: setting(
    "OIDC_SUBJECT_PREFIX",
    z
      .string()
      .regex(/^[\x21-\x7e]{0,64}$/, "must be printable ASCII")
      .refine((prefix) => !mayNameOthers(prefix), "must not lead to the names of services, agents or anything else that is no person"),
    {
      description: "Put before the subject claim, so that it becomes a node id of the identity graph.",
      default: "",
    },
  ),
  oidcSubjectClaim: setting(
    "OIDC_SUBJECT_CLAIM",
    z
      .string()
      .regex(
        /^(?!(?:email|preferred_username|upn|unique_name|nickname|name|client_id|azp|aud)$)[A-Za-z0-9_:./-]{1,128}$/i,
        "must be a claim that names one person for ever: never the e-mail, a name that is given anew, or the client",
      ),
    {
      description: "Claim that names the person. It must never be reassigned; an e-mail address is, so it is refused.",
      default: "sub",
    },
  ),
  oidcTenantClaim: setting("OIDC_TENANT_CLAIM", z.string().min(1).max(128), {
    description: "Claim that names the tenant, of the form tenant:name.",
    default: "tenant",
  }),
  oidcDefaultTenant: setting("OIDC_DEFAULT_TENANT", tenantId.optional(), {
    description: "Tenant of people whose token names none. Unset: they are refused.",
  }),
  oidcAcrMap: setting("OIDC_ACR_MAP", assuranceMapText.optional() as unknown as z.ZodType<AssuranceMap | undefined>, {
    description:
      'Which of the provider\'s acr values, or sets of amr all present, count as "strong" or "phishing_resistant": {"strong": {"acr": [], "amr": [["mfa"]]}, "phishing_resistant": {"acr": ["phr"]}}. Replaces the built-in map.',
  }),
  oidcProvision: setting("OIDC_PROVISION", z.enum(["off", "match", "create"]), {
    description:
      "Who somebody is who signs in at OIDC_ISSUER and is not linked to a person yet. off: the subject, with its prefix, is the id of the person. match: the person with this external id in OIDC_SYSTEM, or the only one of the tenant with the same verified e-mail address, is linked. create: where there is none, a person and an account are made. Whoever stays unknown is refused and told the subject for an administrator. The gateway and membership need the same value.",
    default: "off",
  }),
  oidcSystem: setting("OIDC_SYSTEM", z.string().regex(/^[a-z0-9][a-z0-9.-]{0,31}$/, "must be 1 to 32 of a-z 0-9 . -"), {
    description: "Name of the system whose external ids the provider's subjects are, e.g. scim where SCIM brings the persons.",
    default: "oidc",
  }),
  oidcGroupsClaim: setting("OIDC_GROUPS_CLAIM", z.string().min(1).max(128).optional(), {
    description:
      "Claim of the ID token that lists groups: through groups.yaml of the configuration folder they become memberships, made and ended at each sign-in. Unset: none.",
  }),
  bearerIssuers: setting("BEARER_ISSUERS", issuerList, {
    description: "Issuers whose access tokens are accepted. Unset: OIDC_ISSUER. Sallyport's own tokens always are.",
    default: "",
  }),
  firstPartyClients: setting("FIRST_PARTY_CLIENTS", commaList(), {
    description:
      "Client ids, besides agents, whose tokens may enter the tool endpoints. Unset: OIDC_CLIENT_ID, and the command line's in dev and test.",
    default: "",
  }),
  internalAudiences: setting("INTERNAL_AUDIENCES", commaList(), {
    description:
      "Audiences of Sallyport's own services, which get signed identity tokens. Unset: the addresses of this deployment's services.",
    default: "",
  }),
  agentClients: setting("AGENT_CLIENTS", agentClientsText, {
    description:
      'Agents that may exchange tokens at /oauth/token: [{"client_id", "agent", "secret_sha256" or "jwks", "scopes"?}]. Only digests and public keys stand here. The demo\'s agents are added in dev and test.',
    default: "[]",
  }),
} satisfies SettingTable;

export type AuthnConfig = SettingsOf<typeof authnSettings>;

/** What no single row can say: in production an own provider, its secret, root secrets, and TLS towards every issuer. */
export const authnIssues = (config: AuthnConfig, environment: "dev" | "test" | "production"): readonly Issue[] => {
  const issues: Issue[] = [];
  const plain = [config.oidcIssuer, ...config.bearerIssuers].filter((issuer) => issuer !== undefined && !isTlsOrLoopback(issuer));
  if (plain.length > 0) issues.push({ path: "OIDC_ISSUER, BEARER_ISSUERS", message: "must be https unless on loopback" });
  if ((config.oidcIssuer !== undefined || environment === "production") && config.oidcClientSecret === undefined)
    issues.push({ path: "OIDC_CLIENT_SECRET", message: "must be set with OIDC_ISSUER" });
  if (config.oidcIssuer === undefined && config.oidcProvision !== "off")
    issues.push({ path: "OIDC_PROVISION", message: "needs OIDC_ISSUER: people of the embedded issuer are nodes of the graph already" });
  if (config.oidcIssuer === undefined && config.oidcGroupsClaim !== undefined)
    issues.push({ path: "OIDC_GROUPS_CLAIM", message: "needs OIDC_ISSUER" });
  issues.push(
    ...weakSecret("OIDC_CLIENT_SECRET", config.oidcIssuer === undefined ? undefined : config.oidcClientSecret, secretWeakness, environment),
    ...config.sessionSecrets.flatMap((secret) => weakSecret("SESSION_SECRETS", secret, keyWeakness, environment)),
  );
  if (environment !== "production") return issues;
  if (config.oidcIssuer === undefined)
    issues.push({ path: "OIDC_ISSUER", message: "must be set: the embedded issuer is for ENVIRONMENT dev and test" });
  if (config.sessionSecrets.length === 0)
    issues.push({ path: "SESSION_SECRETS", message: "must be set: base64 of 32 random bytes, e.g. openssl rand -base64 32" });
  return issues;
};

/** How claims of the configured provider become identities. */
export const identityMappingOf = (config: AuthnConfig): IdentityMapping => ({
  subjectPrefix: config.oidcSubjectPrefix,
  subjectClaim: config.oidcSubjectClaim,
  tenantClaim: config.oidcTenantClaim,
  assurance: config.oidcAcrMap ?? defaultAssuranceMap,
  defaultTenant: config.oidcDefaultTenant,
  isLinkedOnly: config.oidcProvision !== "off",
});
