import { Agent } from "undici";

/** `fetch` of an address. */
export type Send = (url: string, init?: RequestInit) => Promise<Response>;

export interface TrustingFetch {
  readonly send: Send;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A `fetch` that believes these authorities (PEM) and no other; without any the system's. */
export const openTrustingFetch = (ca: readonly string[] | undefined): TrustingFetch => {
  if (ca === undefined) return { send: (url, init) => fetch(url, init), [Symbol.asyncDispose]: async () => {} };
  const agent = new Agent({ connect: { ca: [...ca] } });
  return {
    send: (url, init) => fetch(url, { ...init, dispatcher: agent } as RequestInit),
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
};

const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$|HOSTNAME_MISMATCH$)/;

/** The word by which TLS refused the other end's certificate or speech; `undefined`: it failed otherwise. */
export const untrustedCode = (error: unknown): string | undefined => {
  for (let at: unknown = error; typeof at === "object" && at !== null; at = (at as { cause?: unknown }).cause) {
    const { code } = at as { code?: unknown };
    if (typeof code === "string" && UNTRUSTED.test(code)) return code;
  }
  return undefined;
};
