import { lookup as dnsLookup } from "node:dns/promises";
import { isIP } from "node:net";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { portOf, refuseAddress, type NetworkRefusal, type NetworkRules } from "./network-rules.ts";

/** The target may not be dialled; nothing was sent. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
  readonly reason: NetworkRefusal | "not_found";
  constructor(reason: NetworkRefusal | "not_found") {
    super(`refused: ${reason}`);
    this.reason = reason;
  }
}

/** PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

export type Resolve = (hostname: string) => Promise<readonly { readonly address: string }[]>;

const MAX_HEADER_BYTES = 32_768;

const systemResolve: Resolve = (hostname) => dnsLookup(hostname, { all: true, verbatim: true });

/**
 * A connection pool that checks the address it really dials: the name is resolved here, every answer is judged, and the
 * judged address itself is dialled, so a second answer of the resolver changes nothing. TLS is verified for the name.
 * Proxy variables of the environment are not read. Dispose with `close()`.
 */
export const createGuardedAgent = (options: {
  readonly rules: NetworkRules;
  readonly resolve?: Resolve;
  /** What is shown to servers that ask for a certificate, and whom servers may be certified by in place of the public authorities. */
  readonly certificate?: ClientCertificate;
}): Dispatcher => {
  const resolve = options.resolve ?? systemResolve;
  const dial = buildConnector({ timeout: 5000, allowH2: false, minVersion: "TLSv1.2", ...options.certificate });
  const check = async (hostname: string, port: number, protocol: string): Promise<string> => {
    const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
    const answers = isIP(host) === 0 ? await resolve(host).catch(() => []) : [{ address: host }];
    const judged = answers.map(({ address }) => ({ address, refusal: refuseAddress(address, port, protocol, options.rules) }));
    const found = judged.find(({ refusal }) => refusal === undefined);
    // One forbidden answer beside a good one is a rebinding attempt or a broken zone: neither is dialled around.
    const refusal = judged.find((answer) => answer.refusal !== undefined)?.refusal;
    if (refusal !== undefined) throw new AddressRefused(refusal);
    if (found === undefined) throw new AddressRefused("not_found");
    return found.address;
  };
  return new Agent({
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: 10_000,
    connect: (target, connected) => {
      const connect = async (): Promise<void> => {
        const address = await check(target.hostname, portOf(target), target.protocol);
        dial({ ...target, hostname: address, ...(isIP(target.hostname) === 0 ? { servername: target.hostname } : {}) }, connected);
      };
      connect().catch((error: Error) => connected(error, null));
    },
  });
};
