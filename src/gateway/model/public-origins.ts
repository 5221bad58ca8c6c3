import { isLoopbackHost } from "#contract/loopback.ts";

/** Origins under which the gateway is reached; scheme and host never come from a header. */
export interface PublicOrigins {
  /** Never empty; the first is the issuer of Sallyport's tokens. */
  readonly list: readonly string[];
  readonly first: string;
  /** `host[:port]` of each, default port dropped. */
  readonly hosts: ReadonlySet<string>;
  /** The origin that a Host header addresses, or `undefined`. */
  originOf(host: string): string | undefined;
  /** Its `host[:port]`, default port dropped; a host that is none of ours stays as it is. */
  hostOf(host: string): string;
  /** True when every one is http on loopback: then cookies cannot be `Secure`. */
  readonly areLoopbackHttp: boolean;
}

/** Throws TypeError when the list is empty or holds what is no origin. */
export const createPublicOrigins = (list: readonly string[]): PublicOrigins => {
  const byHost = new Map<string, string>();
  const plain = new Map<string, string>();
  for (const origin of list) {
    const url = new URL(origin);
    if (url.origin !== origin || !/^https?:$/.test(url.protocol)) throw new TypeError(`${origin} is no http or https origin`);
    byHost.set(url.host, origin);
    if (url.port === "") byHost.set(`${url.host}:${url.protocol === "http:" ? 80 : 443}`, origin);
  }
  for (const [host, origin] of byHost) plain.set(host, new URL(origin).host);
  const first = list[0];
  if (first === undefined) throw new TypeError("a gateway has at least one public origin");
  return {
    list,
    first,
    hosts: new Set(list.map((origin) => new URL(origin).host)),
    originOf: (host) => byHost.get(host),
    hostOf: (host) => plain.get(host) ?? host,
    areLoopbackHttp: list.every((origin) => origin.startsWith("http://") && isLoopbackHost(new URL(origin).host)),
  };
};
