import type { JWTPayload } from "jose";
import { tenantId } from "#contract/ids.ts";
import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import { assuranceOf, isAssurance, type AssuranceMap } from "./assurance.ts";

/** How a provider's claims become an identity of ours. */
export interface IdentityMapping {
  /** Put before the subject claim; empty for a provider whose subjects are node ids already. */
  readonly subjectPrefix: string;
  readonly subjectClaim: string;
  readonly tenantClaim: string;
  /** Tenant of those whose token names none; absent = they are refused. */
  readonly defaultTenant?: string;
  readonly assurance: AssuranceMap;
  /** Subjects are the provider's own names and no node ids: who is not linked to a person is nobody. */
  readonly isLinkedOnly?: boolean;
}

/** The person that a provider's subject is, as an administrator, a rule or the first start has linked them. */
export interface LinkedPerson {
  readonly id: string;
  readonly tenant: string;
}

/** Looks up who a subject of an issuer is, in the tenant that is meant, or in the only one of Sallyport; `undefined`: nobody. */
export type PersonOf = (issuer: string, subject: string, tenant?: string) => Promise<LinkedPerson | undefined>;

/** What claims say of a person (or service): checked, in our words. */
export interface Identity {
  readonly sub: string;
  readonly tenant: string;
  readonly acr?: string;
  readonly amr: readonly string[];
  readonly authTime?: number;
}

/** Whether a person of the tenant is suspended or disabled, was removed, or the tenant is not active. */
export type HasEnded = (person: string, tenant: string) => Promise<boolean>;

const subjectPattern = /^[\x21-\x7e]{1,256}$/;
const MAX_ACTORS = 8;

const reject = (detail: string): never => {
  throw new Problem("identity_rejected", { detail });
};

/** 1 to 256 printable ASCII characters: look-alikes, blanks and lists never name anybody. */
const parseSubject = (value: unknown, prefix = ""): string => {
  if (typeof value !== "string" || value === "") return reject("The token names no subject.");
  const sub = `${prefix}${value}`;
  return subjectPattern.test(sub) ? sub : reject("The subject is not 1 to 256 printable ASCII characters.");
};

const parseTenant = (value: unknown, fallback?: string): string => {
  const tenant = value === undefined || value === null ? fallback : value;
  if (tenant === undefined) throw new Problem("tenant_required");
  return tenantId.safeParse(tenant).data ?? reject("The tenant is not of the form tenant:name.");
};

const readStrings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];

/** `scope` as one text (RFC 9068) or a list, else `scp`. */
export const readScopes = (claims: JWTPayload): ReadonlySet<string> => {
  const given = claims["scope"] ?? claims["scp"];
  const list = typeof given === "string" ? given.split(" ") : readStrings(given);
  return new Set(list.filter((scope) => scope !== ""));
};

/** The chain of `act`, outermost first. A chain that is too long or not of RFC 8693's shape is no chain at all. */
export const parseActors = (claims: JWTPayload): readonly string[] => {
  const actors: string[] = [];
  let at: unknown = claims["act"];
  while (at !== undefined) {
    if (!isObject(at) || actors.length === MAX_ACTORS)
      throw new Problem("invalid_token", { detail: "The chain of actors is not readable." });
    actors.push(parseSubject(at["sub"]));
    at = at["act"];
  }
  return actors;
};

const readAuthTime = (claims: JWTPayload): number | undefined => {
  const given = claims["auth_time"];
  return typeof given === "number" && Number.isSafeInteger(given) && given > 0 ? given : undefined;
};

const identity = (sub: string, tenant: string, acr: string | undefined, claims: JWTPayload): Identity => {
  return { sub, tenant, amr: readStrings(claims["amr"]), acr, authTime: readAuthTime(claims) };
};

const assuranceIn = (claims: JWTPayload, mapping: IdentityMapping): string | undefined =>
  assuranceOf(mapping.assurance, typeof claims["acr"] === "string" ? claims["acr"] : undefined, readStrings(claims["amr"]));

/** A provider's token of somebody who bears the name of a service: only a client that is this service itself may. */
export const requireNoService = (sub: string, clientId: string | undefined): void => {
  if (sub.startsWith("service:") && sub !== clientId) reject("The subject has the name of a service.");
};

/** The subject as the provider names it: what links know. */
export const subjectOfProvider = (claims: JWTPayload, mapping: Pick<IdentityMapping, "subjectClaim">): string =>
  parseSubject(claims[mapping.subjectClaim]);

/** The tenant that the provider names for a person, or that is meant where it names none; `undefined`: neither. */
export const tenantOfProvider = (
  claims: JWTPayload,
  { tenantClaim, defaultTenant }: Pick<IdentityMapping, "tenantClaim" | "defaultTenant">,
): string | undefined =>
  (claims[tenantClaim] ?? defaultTenant) === undefined ? undefined : parseTenant(claims[tenantClaim], defaultTenant);

/** The tenant whose links count for a token; `*` is no tenant. */
export const linkTenantOf = (claims: JWTPayload, mapping: Pick<IdentityMapping, "tenantClaim" | "defaultTenant">): string | undefined =>
  claims[mapping.tenantClaim] === "*" ? undefined : tenantOfProvider(claims, mapping);

/** How somebody signed in, in our words. */
export const assuranceOfProvider = (claims: JWTPayload, mapping: IdentityMapping): Pick<Identity, "acr" | "authTime"> => ({
  acr: assuranceIn(claims, mapping),
  authTime: readAuthTime(claims),
});

/** 403 of somebody who signed in rightly and is nobody here: what an administrator needs to link them, or the operator to say whose links count. */
export const unknownPerson = (issuer: string, subject: string, tenant: string | undefined): Problem =>
  new Problem("unknown_person", {
    detail: `You signed in as "${subject}" at ${issuer}, and nobody here is linked to that. Give both to an administrator of this deployment, who can link you.${
      tenant === undefined
        ? " Nothing says which tenant you are of: where Sallyport has several no link counts until its operator sets OIDC_TENANT_CLAIM or OIDC_DEFAULT_TENANT."
        : ""
    }`,
  });

/**
 * Of a provider's token: names are mapped, assurance is translated, and nobody is given the name of a service of ours. A linked person is
 * that person, in that person's tenant alone.
 */
export const identityOfProvider = (claims: JWTPayload, mapping: IdentityMapping, linked?: LinkedPerson): Identity => {
  const assurance = assuranceIn(claims, mapping);
  const given = claims[mapping.tenantClaim];
  if (linked !== undefined) {
    if (parseTenant(given, linked.tenant) !== linked.tenant) reject("The person belongs to another tenant.");
    return identity(linked.id, linked.tenant, assurance, claims);
  }
  const sub = parseSubject(claims[mapping.subjectClaim], mapping.subjectPrefix);
  // A client that asks in its own name is its own subject.
  if (mapping.isLinkedOnly === true && sub !== claims["client_id"])
    throw unknownPerson(String(claims.iss), subjectOfProvider(claims, mapping), linkTenantOf(claims, mapping));
  // A service client may act in all tenants; a person never.
  const isServiceClient = sub.startsWith("service:") && sub === claims["client_id"];
  return identity(sub, given === "*" && isServiceClient ? "*" : parseTenant(given, mapping.defaultTenant), assurance, claims);
};

/** Of a token of this deployment: our own claims as they stand. */
export const identityOfService = (claims: JWTPayload): Identity => {
  const sub = parseSubject(claims.sub);
  const given = claims["tenant"];
  const acr = isAssurance(claims["acr"]) ? claims["acr"] : undefined;
  return identity(sub, given === "*" && sub.startsWith("service:") ? "*" : parseTenant(given), acr, claims);
};
