import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import type { Dispatcher } from "undici";
import { Problem } from "#contract/problem.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { Invocation } from "#crud/tools/tool.ts";
import type { AuthRules } from "#crud/systems/system-document.ts";
import type { ClientCertificate } from "./guarded-agent.ts";

type Certified = Extract<AuthRules, { readonly type: "mtls" }>;

const parsed = <T>(name: string, what: string, read: () => T): T => {
  try {
    return read();
  } catch {
    // The library's message may quote what it was given.
    throw new UpstreamError(new Problem("upstream_auth_failed", { detail: `auth.${name} is ${what}.` }), "not_sent", { isFinal: true });
  }
};

const requireFit = ({ cert, key, ca }: ClientCertificate): void => {
  const shown = parsed("cert", "no certificate in PEM", () => new X509Certificate(cert));
  const own = parsed("key", "no private key in PEM without a passphrase", () => createPrivateKey(key));
  if (ca !== undefined) parsed("ca", "no certificate in PEM", () => new X509Certificate(ca));
  parsed("key", "not the key of auth.cert", () => {
    if (!shown.checkPrivateKey(own)) throw new Error("another's");
  });
};

/** Longer than a call waits for its turn and its answer: who was given the old connections still may come. */
const RETIRED_MS = 900_000;

/** Connections on which Sallyport shows a certificate (RFC 8705 calls it mutual TLS); each tenant has its own. */
export const createClientCertificates = ({ cert, key, ca }: Certified, connect: (certificate: ClientCertificate) => Dispatcher) => {
  const held = new Map<string, { readonly digest: string; readonly agent: Dispatcher }>();
  const retired = new Set<Dispatcher>();
  const retire = (agent: Dispatcher): void => {
    retired.add(agent);
    setTimeout(() => {
      retired.delete(agent);
      void agent.close();
    }, RETIRED_MS).unref();
  };
  return {
    /** Those of the certificate as it is now. Throws `UpstreamError`, and then nothing was sent. */
    agent: async ({ caller, secret }: Pick<Invocation, "caller" | "secret">): Promise<Dispatcher> => {
      const [shown, own, trusted] = await Promise.all([secret(cert), secret(key), ca === undefined ? undefined : secret(ca)]);
      const certificate = { cert: shown, key: own, ...(trusted === undefined ? {} : { ca: trusted }) };
      const digest = createHash("sha256").update(JSON.stringify(certificate)).digest("base64");
      const known = held.get(caller.tenant);
      if (known?.digest === digest) return known.agent;
      requireFit(certificate);
      const made = { digest, agent: connect(certificate) };
      held.set(caller.tenant, made);
      // Calls that are under way on the old ones, or wait for their turn, end as they began.
      if (known !== undefined) retire(known.agent);
      return made.agent;
    },
    close: async (): Promise<void> => {
      await Promise.all([...retired, ...Array.from(held.values(), ({ agent }) => agent)].map((agent) => agent.close()));
    },
  };
};
export type ClientCertificates = ReturnType<typeof createClientCertificates>;
