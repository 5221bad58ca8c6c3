import type { JWTPayload } from "jose";
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
}

/** What claims say of a person (or service): checked, in our words. */
export interface Identity {
  readonly sub: string;
  readonly tenant: string;
  readonly acr?: string;
  readonly amr: readonly string[];
  readonly authTime?: number;
}

const subjectPattern = /^[\x21-\x7e]{1,256}$/;
const tenantPattern = /^tenant:[a-z0-9-]{1,64}$/;
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
  return typeof tenant === "string" && tenantPattern.test(tenant) ? tenant : reject("The tenant is not of the form tenant:name.");
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
    if (typeof at !== "object" || at === null || Array.isArray(at) || actors.length === MAX_ACTORS)
      throw new Problem("invalid_token", { detail: "The chain of actors is not readable." });
    const link = at as { readonly sub?: unknown; readonly act?: unknown };
    actors.push(parseSubject(link.sub));
    at = link.act;
  }
  return actors;
};

const readAuthTime = (claims: JWTPayload): number | undefined => {
  const given = claims["auth_time"];
  return typeof given === "number" && Number.isSafeInteger(given) && given > 0 ? given : undefined;
};

const identity = (sub: string, tenant: string, acr: string | undefined, claims: JWTPayload): Identity => {
  const authTime = readAuthTime(claims);
  return {
    sub,
    tenant,
    amr: readStrings(claims["amr"]),
    ...(acr === undefined ? {} : { acr }),
    ...(authTime === undefined ? {} : { authTime }),
  };
};

/** Of a provider's token: names are mapped, assurance is translated, and nobody is given the name of a service of ours. */
export const identityOfProvider = (claims: JWTPayload, mapping: IdentityMapping): Identity => {
  const acr = typeof claims["acr"] === "string" ? claims["acr"] : undefined;
  const assurance = assuranceOf(mapping.assurance, acr, readStrings(claims["amr"]));
  const sub = parseSubject(claims[mapping.subjectClaim], mapping.subjectPrefix);
  const given = claims[mapping.tenantClaim];
  // A service client (its subject is its own client id) may act in all tenants; a person never.
  const isServiceClient = sub.startsWith("service:") && sub === claims["client_id"];
  return identity(sub, given === "*" && isServiceClient ? "*" : parseTenant(given, mapping.defaultTenant), assurance, claims);
};

/** Of a token of this house: our own claims as they stand. */
export const identityOfHouse = (claims: JWTPayload): Identity => {
  const sub = parseSubject(claims.sub);
  const given = claims["tenant"];
  const acr = isAssurance(claims["acr"]) ? claims["acr"] : undefined;
  return identity(sub, given === "*" && sub.startsWith("service:") ? "*" : parseTenant(given), acr, claims);
};
