import { z } from "zod";
import { isTlsOrLoopback } from "#contract/loopback.ts";

/** https, or http on loopback: anything else would carry decisions past strangers. */
export const isSafeAddress = (address: URL): boolean => isTlsOrLoopback(address.href) && address.username === "" && address.password === "";

const isIdentifier = (text: string): boolean => {
  const address = URL.canParse(text) ? new URL(text) : undefined;
  return address !== undefined && isSafeAddress(address) && address.search === "" && address.hash === "";
};

/** A decision point of another make, asked over OpenID AuthZEN. */
export const remoteDecisionPoint = z.strictObject({
  kind: z.literal("remote"),
  /** Its `policy_decision_point`, exactly as its metadata says it. */
  identifier: z
    .string()
    .max(2048)
    .refine(isIdentifier, "must be an https address (http on loopback) without query, fragment or credentials"),
  auth: z.enum(["none", "bearer_from_env", "client_credentials"]).default("none"),
  timeout_ms: z.number().int().min(50).max(60_000).default(2000),
  /** How much of what the graph knows is sent along. */
  facts: z.enum(["none", "subject", "full"]).default("none"),
  /** Properties of the subject, each a CEL expression over `facts`. */
  subject_properties: z
    .record(z.string().min(1).max(128), z.string().min(1).max(2048))
    .refine((all) => Object.keys(all).length <= 32, "has at most 32 properties")
    .default({}),
  /** Most items that it takes in one call. */
  max_batch: z.number().int().min(1).max(1000).default(50),
});
export type RemoteDecisionPoint = z.infer<typeof remoteDecisionPoint>;
