import { BlockList, isIP } from "node:net";

/** An address with the bits of it that a network shares; all of them where it is one address. */
export interface Network {
  readonly address: string;
  readonly family: 4 | 6;
  readonly bits: number;
}

const MAX_BITS = { 4: 32, 6: 128 } as const;

/** An address, or a range in CIDR notation; `undefined`: it is neither. */
export const readNetwork = (text: string): Network | undefined => {
  const [address = "", written, ...rest] = text.split("/");
  const family = isIP(address);
  if (
    (family !== 4 && family !== 6) ||
    address.includes("%") ||
    rest.length > 0 ||
    (written !== undefined && !/^[0-9]{1,3}$/.test(written))
  )
    return undefined;
  const bits = written === undefined ? MAX_BITS[family] : Number(written);
  return bits > MAX_BITS[family] ? undefined : { address, family, bits };
};

export const networkList = (networks: Iterable<Network>): BlockList => {
  const list = new BlockList();
  for (const { address, family, bits } of networks) list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4");
  return list;
};

/** The same of texts that are known to be networks. Throws for one that is none. */
export const listOf = (...texts: readonly string[]): BlockList =>
  networkList(
    texts.map((text) => {
      const network = readNetwork(text);
      if (network === undefined) throw new TypeError(`${text} is no network`);
      return network;
    }),
  );

/** Whether an address lies in one of the networks; what is no address does not. IPv4 in IPv6 clothes counts as IPv4. */
export const isIn = (list: BlockList, address: string): boolean => {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? "ipv6" : "ipv4");
};

/** The eight words of an IPv6 address in any spelling, its zone left out. */
export const wordsOf = (address: string): readonly number[] => {
  const host = new URL(`http://[${address.split("%")[0] ?? ""}]`).hostname.slice(1, -1);
  const [front = [], back] = host.split("::").map((part) => (part === "" ? [] : part.split(":").map((word) => Number.parseInt(word, 16))));
  return back === undefined ? front : [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back];
};

/** The first words of it, as a text. */
export const firstWords = (address: string, count: number): string =>
  wordsOf(address)
    .slice(0, count)
    .map((word) => word.toString(16))
    .join(":");

/**
 * Where clouds hand out a machine's own credentials: link-local of AWS, Azure, Google and others, Alibaba's, and AWS over IPv6. Nothing of
 * this deployment ever dials them.
 */
export const metadataNetworks: readonly string[] = ["169.254.0.0/16", "100.100.100.200", "fd00:ec2::254"];

const loopback = listOf("127.0.0.0/8", "::1");
/** Whether the other end of a connection is this machine. */
export const isLoopbackAddress = (address: string): boolean => isIn(loopback, address);
