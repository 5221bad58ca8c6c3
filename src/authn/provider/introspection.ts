import type { JWTPayload } from "jose";
import * as openid from "openid-client";
import { Problem } from "#contract/problem.ts";
import { boundPeer } from "#http/bounded-peer.ts";
import { createProviderConnection, type ProviderConnectionParts } from "./provider-connection.ts";

/** An issuer that is asked what a token is which does not say so itself (RFC 7662). */
export interface Introspector {
  readonly issuer: string;
  /**
   * What the issuer says of an active token; `undefined` when it is not active, or the issuer cannot be asked about tokens.
   * Throws `identity_provider_unavailable` (503) when it gives no clear answer. Cost: one request.
   */
  claimsOf(token: string): Promise<JWTPayload | undefined>;
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 65_536;
/** Questions under way. Whoever sends tokens that nobody knows must not hold more of our connections. */
const MAX_ASKED = 64;

const unavailable = (cause: unknown): Problem =>
  new Problem("identity_provider_unavailable", {
    detail: "The identity provider does not say what this token is.",
    cause,
    headers: { "retry-after": "5" },
  });

export const createIntrospector = (parts: ProviderConnectionParts): Introspector => {
  const send = parts.fetch ?? ((url, init) => fetch(url, init));
  const provider = createProviderConnection({
    ...parts,
    fetch: (url, init) => {
      const bounded = boundPeer(
        ({ signal }) => send(url, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal }),
        { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, unavailable: "identity_provider_unavailable" },
      );
      return bounded(new Request(url));
    },
  });
  let asked = 0;

  const ask = async (token: string): Promise<JWTPayload | undefined> => {
    const config = await provider.configuration();
    if (config.serverMetadata().introspection_endpoint === undefined) return undefined;
    // Whatever else comes, an error about our own client too, is no word about the token.
    const { active, ...claims } = await openid.tokenIntrospection(config, token, { token_type_hint: "access_token" }).catch((cause) => {
      throw unavailable(cause);
    });
    // The library has seen that it is a boolean, and nothing of what stands beside it.
    return active ? (claims as JWTPayload) : undefined;
  };

  return {
    issuer: parts.issuer,
    claimsOf: async (token) => {
      if (asked >= MAX_ASKED) throw unavailable(new Error(`${MAX_ASKED} questions are under way`));
      asked++;
      try {
        return await ask(token);
      } finally {
        asked--;
      }
    },
  };
};
