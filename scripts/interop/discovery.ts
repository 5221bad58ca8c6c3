import { isTlsOrLoopback } from "#contract/loopback.ts";
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import type { Target } from "./target.ts";

const endpoints = [
  "access_evaluation_endpoint",
  "access_evaluations_endpoint",
  "search_subject_endpoint",
  "search_resource_endpoint",
  "search_action_endpoint",
] as const;

/** Claims of any JWT: what is signed beside the metadata. */
const ofAnyJwt: ReadonlySet<string> = new Set(["iss", "iat", "exp", "nbf", "aud", "jti", "sub"]);
/** What two clocks may differ, and the first second that a signature may be from (a time in milliseconds lies far beyond). */
const SKEW_SECONDS = 300;
const FIRST_SECOND = Date.UTC(2024, 0) / 1000;

/** https; http on loopback alone, where nobody else listens. */
const isSafe = (value: unknown): boolean => typeof value === "string" && isTlsOrLoopback(value);
const hasVersion = (value: unknown): boolean => typeof value !== "string" || /\/v1(?:\/|$)/.test(value);

type Members = Readonly<Record<string, unknown>>;
const isEmpty = (value: unknown): boolean => value === null || value === "" || (Array.isArray(value) && value.length === 0);

const claimIssues = (claims: Members, metadata: Members, now: Date): readonly string[] => {
  const latest = now.getTime() / 1000 + SKEW_SECONDS;
  const { iss, iat, signed_metadata: nested } = claims;
  const signed = Object.entries(claims).filter(([name]) => !ofAnyJwt.has(name) && name !== "signed_metadata");
  const differing = signed.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(metadata[name]));
  return [
    ...(iss === metadata["policy_decision_point"] ? [] : ["signed_metadata is not this decision point's own word"]),
    ...(nested === undefined ? [] : ["signed_metadata holds itself"]),
    ...(iat === undefined || (typeof iat === "number" && iat >= FIRST_SECOND && iat <= latest)
      ? []
      : ["signed_metadata was signed at no time that can be"]),
    ...differing.map(([name]) => `signed_metadata says something else of ${name}`),
  ];
};

const signatureIssues = async (metadata: Members, target: Target, now: Date): Promise<readonly string[]> => {
  const { signed_metadata: jwt, jwks_uri: keysAt } = metadata;
  if (jwt === undefined) return [];
  if (typeof jwt !== "string" || typeof keysAt !== "string") return ["signed_metadata is no JWT, or nothing says where its key is"];
  try {
    const keys = (await (await target.send(new Request(keysAt))).json()) as JSONWebKeySet;
    const { payload } = await jwtVerify(jwt, createLocalJWKSet(keys), { clockTolerance: SKEW_SECONDS, currentDate: now });
    return claimIssues(payload, metadata, now);
  } catch (error) {
    return [`signed_metadata does not verify: ${String(error)}`];
  }
};

/** What is wrong with a discovery document of the decision point at this address. */
export const discoveryIssues = async (body: unknown, target: Target, now = new Date()): Promise<readonly string[]> => {
  const metadata = (body ?? {}) as Members;
  const issues: string[] = [];
  if (metadata["policy_decision_point"] !== target.url)
    issues.push(`policy_decision_point is ${JSON.stringify(metadata["policy_decision_point"])}`);
  if (metadata["access_evaluation_endpoint"] === undefined) issues.push("access_evaluation_endpoint is missing");
  for (const [name, value] of Object.entries(metadata)) if (isEmpty(value)) issues.push(`${name} is empty, which is left out`);
  for (const member of endpoints) {
    if (metadata[member] !== undefined && !isSafe(metadata[member])) issues.push(`${member} is no https URL`);
    if (!hasVersion(metadata[member])) issues.push(`${member} does not name version v1`);
  }
  const { capabilities } = metadata;
  if (capabilities !== undefined && !(Array.isArray(capabilities) && capabilities.every((item) => typeof item === "string")))
    issues.push("capabilities is no array of strings");
  return [...issues, ...(await signatureIssues(metadata, target, now))];
};
