import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Agent } from "undici";
import type { Fetch } from "./issuer-keys.ts";

/** The authority of the OpenID provider cannot be used: the start is refused. */
class IssuerAuthorityFault extends Error {
  override readonly name = "IssuerAuthorityFault";
  /** sysexits.h: configuration. */
  readonly exitCode = 78;
}

/** How the OpenID provider is reached, by all who ask it anything. */
export interface IssuerFetch {
  readonly send: Fetch;
  [Symbol.asyncDispose](): Promise<void>;
}

const readAuthority = async (file: string): Promise<string> => {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new IssuerAuthorityFault(`OIDC_CA_FILE: ${file} cannot be read (${error.code ?? "unknown"})`);
  });
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  try {
    if (certificates.length === 0) throw new Error("none");
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch {
    throw new IssuerAuthorityFault(`OIDC_CA_FILE: ${file} is no certificate in PEM`);
  }
  return text;
};

/**
 * A `fetch` that trusts the authority in a PEM file, and no other; without a file the system's. The file is read once.
 * Throws `IssuerAuthorityFault` when it cannot be read or holds no certificate.
 */
export const openIssuerFetch = async (caFile: string | undefined): Promise<IssuerFetch> => {
  if (caFile === undefined) return { send: (url, init) => fetch(url, init), [Symbol.asyncDispose]: async () => {} };
  const agent = new Agent({ connect: { ca: await readAuthority(caFile) } });
  return {
    send: (url, init) => fetch(url, { ...init, dispatcher: agent } as RequestInit),
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
};
