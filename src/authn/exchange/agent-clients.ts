import { createHash } from "node:crypto";
import { z } from "zod";
import { jsonText } from "#http/json-setting.ts";
import type { JSONWebKeySet } from "jose";

/** An agent as a client of the token endpoint. It proves itself by a secret, of which we hold the digest, or by its key. */
export interface AgentClient {
  readonly clientId: string;
  /** Node id of the agent; the `act.sub` of its tokens. */
  readonly agent: string;
  /** SHA-256, hex. */
  readonly secretSha256?: string;
  /** Public keys for `private_key_jwt`. */
  readonly jwks?: JSONWebKeySet;
  /** Most its tokens may carry; all that agents may unless given. */
  readonly scopes?: readonly string[];
}

const OF_NOTHING = createHash("sha256").digest("hex");

/** Sallyport takes whoever bears such a name for a service, and a service is nobody's agent: it would act as the person itself. */
const isNoService = (id: string): boolean => !id.toLowerCase().startsWith("service:");

const printable = z.string().regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 printable ASCII characters");

const publicKey = z
  .looseObject({ kty: z.enum(["EC", "OKP", "RSA"]) })
  .refine((key) => !Object.hasOwn(key, "d"), "must be a public key: it holds a private part");

const agentClient = z
  .strictObject({
    client_id: printable.refine(isNoService, "must not be the name of a service"),
    agent: printable
      .refine(isNoService, "must not be the name of a service")
      .refine((id) => !/^(?:person|group|tenant|role|delegation|service):/i.test(id), "must be the id of an agent"),
    secret_sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex")
      .refine((digest) => digest !== OF_NOTHING, "is the digest of no secret at all")
      .optional(),
    jwks: z.strictObject({ keys: z.array(publicKey).min(1).max(8) }).optional(),
    scopes: z.array(printable).max(32).optional(),
  })
  .refine((row) => row.secret_sha256 !== undefined || row.jwks !== undefined, "needs secret_sha256 or jwks")
  .transform((row): AgentClient => ({
    clientId: row.client_id,
    agent: row.agent,
    secretSha256: row.secret_sha256,
    ...(row.jwks === undefined ? {} : { jwks: row.jwks as JSONWebKeySet }),
    scopes: row.scopes,
  }));

const clientList = z
  .array(agentClient)
  .max(1000)
  .refine((rows) => new Set(rows.map((row) => row.clientId)).size === rows.length, "names a client_id twice");

/** For settings: JSON `[{"client_id", "agent", "secret_sha256" | "jwks", "scopes"?}]`. */
export const agentClientsText: z.ZodType<readonly AgentClient[]> = jsonText(clientList);
