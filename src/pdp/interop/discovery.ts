import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import type { Target } from "./run-case.ts";

const endpoints = [
  "access_evaluation_endpoint",
  "access_evaluations_endpoint",
  "search_subject_endpoint",
  "search_resource_endpoint",
  "search_action_endpoint",
] as const;

const loopback = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

/** https; http on loopback alone, where nobody else listens. */
const isSafe = (value: unknown): boolean => {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" || (protocol === "http:" && loopback.test(hostname));
};

const signatureFaults = async (metadata: Readonly<Record<string, unknown>>, target: Target): Promise<readonly string[]> => {
  const { signed_metadata: jwt, jwks_uri: keysAt } = metadata;
  if (jwt === undefined) return [];
  if (typeof jwt !== "string" || typeof keysAt !== "string") return ["signed_metadata is no JWT, or nothing says where its key is"];
  try {
    const keys = (await (await target.send(new Request(keysAt))).json()) as JSONWebKeySet;
    const { payload } = await jwtVerify(jwt, createLocalJWKSet(keys));
    const differing = endpoints.filter((member) => payload[member] !== metadata[member]);
    return [
      ...(typeof payload.iss === "string" ? [] : ["signed_metadata names no issuer"]),
      ...differing.map((member) => `signed_metadata says something else of ${member}`),
    ];
  } catch (error) {
    return [`signed_metadata does not verify: ${String(error)}`];
  }
};

/** What is wrong with a discovery document of the decision point at this address. */
export const discoveryFaults = async (body: unknown, target: Target): Promise<readonly string[]> => {
  const metadata = (body ?? {}) as Readonly<Record<string, unknown>>;
  const faults: string[] = [];
  if (metadata["policy_decision_point"] !== target.url)
    faults.push(`policy_decision_point is ${JSON.stringify(metadata["policy_decision_point"])}`);
  if (metadata["access_evaluation_endpoint"] === undefined) faults.push("access_evaluation_endpoint is missing");
  for (const member of endpoints) if (metadata[member] !== undefined && !isSafe(metadata[member])) faults.push(`${member} is no https URL`);
  const { capabilities } = metadata;
  if (capabilities !== undefined && !(Array.isArray(capabilities) && capabilities.every((item) => typeof item === "string")))
    faults.push("capabilities is no array of strings");
  return [...faults, ...(await signatureFaults(metadata, target))];
};
