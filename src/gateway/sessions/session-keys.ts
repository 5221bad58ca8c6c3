import { createHmac, timingSafeEqual } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { createSealer, deriveKey, type InstanceSecrets } from "#authn/sealing/seal.ts";
import { firstWords } from "#http/addresses.ts";
import type { SessionRecord } from "./session-store.ts";

/** Tokens of the identity provider that a session holds, sealed at rest. */
export interface SessionTokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
}

/** Everything about a session that needs a key; each purpose has its own, derived from the session secrets. */
export interface SessionKeys {
  sealTokens(tokens: SessionTokens, sidHash: string, generation: number): Uint8Array;
  /** `undefined` when the secret that sealed them is gone. */
  openTokens(record: Pick<SessionRecord, "tokens" | "sidHash" | "tokenGeneration">): SessionTokens | undefined;
  sealRevocation(token: string, ref: string): Uint8Array;
  openRevocation(sealed: Uint8Array, ref: string): string | undefined;
  csrfToken(record: Pick<SessionRecord, "sidHash" | "generation">): string;
  isCsrfToken(record: Pick<SessionRecord, "sidHash" | "generation">, given: string): boolean;
  hashClient(userAgent: string): string;
  isClient(hash: string, userAgent: string): boolean;
  /** `undefined` for what is no address. */
  hashNetwork(address: string): string | undefined;
  isNetwork(hash: string, address: string): boolean;
}

const tokensPlace = (sidHash: string, generation: number): string => `${sidHash} ${generation}`;

/** A browser updates itself under a session: its version is not part of who it is. */
const withoutVersions = (userAgent: string): string => userAgent.replace(/[0-9][0-9._]*/g, "");

/** IPv4 /24 or IPv6 /48, as text; an IPv4 address in IPv6 clothes counts as IPv4. */
export const coarseNetworkOf = (address: string): string | undefined => {
  const plain = address.replace(/^::ffff:/i, "");
  if (isIPv4(plain)) return plain.split(".").slice(0, 3).join(".");
  return isIPv6(plain) ? firstWords(plain, 3) : undefined;
};

export const createSessionKeys = (secrets: InstanceSecrets): SessionKeys => {
  const tokenSealer = createSealer(secrets, "gateway.session-tokens");
  const revocationSealer = createSealer(secrets, "gateway.revocation");
  const csrfKeys = secrets.map((secret) => deriveKey(secret, "gateway.csrf.v1"));
  const bindingKeys = secrets.map((secret) => deriveKey(secret, "gateway.binding.v1"));
  const csrf = (key: Buffer, record: Pick<SessionRecord, "sidHash" | "generation">) =>
    createHmac("sha256", key).update(`csrf.v1${record.sidHash}${record.generation}`).digest();
  const keyed = (key: Buffer, purpose: string, text: string) => createHmac("sha256", key).update(`${purpose}\0${text}`).digest("base64url");
  const write = (purpose: string, text: string) => keyed(bindingKeys[0] as Buffer, purpose, text);
  const fits = (hash: string, purpose: string, text: string) => bindingKeys.some((key) => keyed(key, purpose, text) === hash);
  // A record is the same object as long as the hot cache holds it, and what follows from it alone is the same too.
  const csrfOf = new WeakMap<object, readonly Buffer[]>();
  const csrfTokens = (record: Pick<SessionRecord, "sidHash" | "generation">): readonly Buffer[] => {
    const held = csrfOf.get(record);
    if (held !== undefined) return held;
    const made = csrfKeys.map((key) => csrf(key, record));
    csrfOf.set(record, made);
    return made;
  };
  return {
    sealTokens: (tokens, sidHash, generation) => tokenSealer.seal(JSON.stringify(tokens), tokensPlace(sidHash, generation)),
    openTokens: (record) => {
      const text = tokenSealer.open(record.tokens, tokensPlace(record.sidHash, record.tokenGeneration));
      return text === undefined ? undefined : (JSON.parse(text) as SessionTokens);
    },
    sealRevocation: (token, ref) => revocationSealer.seal(token, ref),
    openRevocation: (sealed, ref) => revocationSealer.open(sealed, ref),
    csrfToken: (record) => csrf(csrfKeys[0] as Buffer, record).toString("base64url"),
    isCsrfToken: (record, given) => {
      const bytes = Buffer.from(given, "base64url");
      // Every key is tried, so that the time says nothing of which one fits; another spelling of the same bytes is none.
      return (
        csrfTokens(record)
          .map((token) => bytes.length === 32 && timingSafeEqual(token, bytes))
          .includes(true) && bytes.toString("base64url") === given
      );
    },
    hashClient: (userAgent) => write("user-agent", withoutVersions(userAgent)),
    isClient: (hash, userAgent) => fits(hash, "user-agent", withoutVersions(userAgent)),
    hashNetwork: (address) => {
      const network = coarseNetworkOf(address);
      return network === undefined ? undefined : write("network", network);
    },
    isNetwork: (hash, address) => fits(hash, "network", coarseNetworkOf(address) ?? ""),
  };
};
