import { isIP, type BlockList } from "node:net";
import { isIn, listOf, metadataNetworks, networkList, readNetwork, wordsOf, type Network } from "#http/addresses.ts";

/**
 * Where systems may be dialled. Addresses that are not public are refused unless the system's file allows them; addresses
 * of cloud metadata and Sallyport's own ports are refused always. Addresses that embed an IPv4 address (mapped, NAT64,
 * 6to4) are judged by it: they reach the same machine.
 */
export interface NetworkRules {
  readonly allow: BlockList;
  /** What the operator lets systems allow themselves: an address counts as allowed in both alone. */
  readonly ceiling: NetworkCeiling;
  /** Ports of this deployment; nothing of a system's file reaches them on an address that is not public. */
  readonly internalPorts: ReadonlySet<number>;
}

/** The operator's networks, which a system narrows and never widens. */
export interface NetworkCeiling {
  readonly networks: readonly Network[];
  readonly blocks: BlockList;
}

/** Of texts that are networks. */
export const readCeiling = (texts: readonly string[]): NetworkCeiling => {
  const networks = texts.map(readNetwork).filter((network) => network !== undefined);
  return { networks, blocks: networkList(networks) };
};

/** What a network of a system that lies beyond it is told. */
export const beyondCeiling = ({ networks }: NetworkCeiling): string => {
  const held = networks.map(({ address, bits }) => `${address}/${bits}`).join(", ");
  return `is more than the operator lets systems dial: TOOLS_NETWORK_CEILING is ${held === "" ? "empty" : held}`;
};

/** What a target is refused for; `undefined` = it may be dialled. */
export type NetworkRefusal = "metadata" | "not_public" | "internal_port" | "plain_http" | "not_an_address";

const metadata = listOf(...metadataNetworks);

const notPublic = listOf(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::",
  "::1",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/32",
  "2001:db8::/32",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
);

const embedded: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], at: 12 },
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { prefix: [0x20, 0x02], at: 2 },
];

/** The address that is judged: an embedded IPv4 one, else itself without its zone. */
const judgedAddress = (address: string): string => {
  if (isIP(address) !== 6) return address;
  const bytes = wordsOf(address).flatMap((word) => [word >> 8, word & 0xff]);
  const found = embedded.find(({ prefix }) => prefix.every((byte, index) => bytes[index] === byte));
  const v4 = found === undefined ? undefined : bytes.slice(found.at, found.at + 4).join(".");
  const isLowest = bytes.slice(0, 15).every((byte) => byte === 0);
  return v4 === undefined || isLowest ? (address.split("%")[0] ?? address) : v4;
};

export const refuseAddress = (address: string, port: number, protocol: string, rules: NetworkRules): NetworkRefusal | undefined => {
  if (isIP(address) === 0) return "not_an_address";
  const judged = judgedAddress(address);
  if (isIn(metadata, judged)) return "metadata";
  const isAllowed = isIn(rules.allow, judged) && isIn(rules.ceiling.blocks, judged);
  const isPrivate = isIn(notPublic, judged);
  if (isPrivate && rules.internalPorts.has(port)) return "internal_port";
  if (isPrivate && !isAllowed) return "not_public";
  return protocol === "http:" && !(isPrivate && isAllowed) ? "plain_http" : undefined;
};

/** Where a target listens, whether or not its address says so. */
export const portOf = ({ port, protocol }: Readonly<Record<"port" | "protocol", string | undefined>>): number =>
  port === undefined || port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);

/** What an address that names no host, but a machine, is refused for: known before anything is dialled. Of a name nothing is known. */
export const refuseLiteral = (
  url: URL,
  rules: NetworkRules,
): { readonly refusal: NetworkRefusal; readonly network: string } | undefined => {
  const host = /^(?:.+\.)?localhost\.?$/.test(url.hostname) ? "127.0.0.1" : url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) === 0) return undefined;
  const address = judgedAddress(host);
  const refusal = refuseAddress(address, portOf(url), url.protocol, rules);
  return refusal === undefined ? undefined : { refusal, network: `${address}/${isIP(address) === 6 ? 128 : 32}` };
};

/** What lets a system dial a network that is not public. */
export const allowNetwork = (system: string, network: string): string =>
  `Add ${network} to network.allow of the system, network: { allow: [${network}] }, and publish it: PUT /config/systems/${system}. The operator's TOOLS_NETWORK_CEILING must hold it.`;

/** The widest that a file may allow. */
const WIDEST = { 4: 8, 6: 16 } as const;

const isFit = (network: Network | undefined): network is Network => network !== undefined && network.bits >= WIDEST[network.family];

const isWithin = (network: Network, { networks }: NetworkCeiling): boolean =>
  networks.some((one) => one.family === network.family && one.bits <= network.bits && isIn(networkList([one]), network.address));

/** CIDRs of a file, and what is wrong with each text that is none or lies beyond the ceiling. */
export const parseNetworks = (
  texts: readonly string[],
  ceiling: NetworkCeiling,
): { readonly blocks: BlockList; readonly issues: readonly { readonly index: number; readonly message: string }[] } => {
  const read = texts.map((text) => (text.includes("/") ? readNetwork(text) : undefined));
  const issues = read.flatMap((network, index) => {
    if (!isFit(network)) return [{ index, message: "is no network: write it as address/bits" }];
    return isWithin(network, ceiling) ? [] : [{ index, message: beyondCeiling(ceiling) }];
  });
  return { blocks: networkList(read.filter(isFit)), issues };
};
