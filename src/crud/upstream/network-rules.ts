import { BlockList, isIP } from "node:net";
import { metadataNetworks } from "#http/metadata-networks.ts";

/**
 * Where systems may be dialled. Addresses that are not public are refused unless the system's file allows them; addresses
 * of cloud metadata and the house's own ports are refused always. Addresses that embed an IPv4 address (mapped, NAT64,
 * 6to4) are judged by it: they reach the same machine.
 */
export interface NetworkRules {
  readonly allow: BlockList;
  /** Ports of this house; nothing of a system's file reaches them on an address that is not public. */
  readonly housePorts: ReadonlySet<number>;
}

/** What a target is refused for; `undefined` = it may be dialled. */
export type NetworkRefusal = "metadata" | "not_public" | "house_port" | "plain_http" | "not_an_address";

const ranges = (list: readonly (readonly [string, number])[]): BlockList => {
  const blocks = new BlockList();
  for (const [network, prefix] of list) blocks.addSubnet(network, prefix, network.includes(":") ? "ipv6" : "ipv4");
  return blocks;
};

const metadata = ranges(metadataNetworks);

const notPublic = ranges([
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  ["::", 128],
  ["::1", 128],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 32],
  ["2001:db8::", 32],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
]);

/** The 16 bytes of an IPv6 address in any spelling. */
const bytesOf = (address: string): number[] => {
  const host = new URL(`http://[${address.split("%")[0] ?? ""}]`).hostname.slice(1, -1);
  const [head = "", tail] = host.split("::");
  const words = (text: string): number[] => (text === "" ? [] : text.split(":").map((word) => Number.parseInt(word, 16)));
  const front = words(head);
  const back = tail === undefined ? [] : words(tail);
  const all = tail === undefined ? front : [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back];
  return all.flatMap((word) => [word >> 8, word & 0xff]);
};

const embedded: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], at: 12 },
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { prefix: [0x20, 0x02], at: 2 },
];

/** The address that is judged: an embedded IPv4 one, else itself without its zone. */
const judgedAddress = (address: string): string => {
  if (isIP(address) !== 6) return address;
  const bytes = bytesOf(address);
  const found = embedded.find(({ prefix }) => prefix.every((byte, index) => bytes[index] === byte));
  const v4 = found === undefined ? undefined : bytes.slice(found.at, found.at + 4).join(".");
  const isLowest = bytes.slice(0, 15).every((byte) => byte === 0);
  return v4 === undefined || isLowest ? (address.split("%")[0] ?? address) : v4;
};

const has = (blocks: BlockList, address: string): boolean => blocks.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

export const refuseAddress = (address: string, port: number, protocol: string, rules: NetworkRules): NetworkRefusal | undefined => {
  if (isIP(address) === 0) return "not_an_address";
  const judged = judgedAddress(address);
  if (has(metadata, judged)) return "metadata";
  const isAllowed = has(rules.allow, judged);
  const isPrivate = has(notPublic, judged);
  if (isPrivate && rules.housePorts.has(port)) return "house_port";
  if (isPrivate && !isAllowed) return "not_public";
  return protocol === "http:" && !(isPrivate && isAllowed) ? "plain_http" : undefined;
};

/** CIDRs of a file; a fault is the text that is none. */
export const parseNetworks = (texts: readonly string[]): { readonly blocks: BlockList; readonly faults: readonly number[] } => {
  const blocks = new BlockList();
  const faults: number[] = [];
  texts.forEach((text, index) => {
    const [address = "", prefix = ""] = text.split("/");
    const family = isIP(address);
    const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (family === 0 || bits < (family === 4 ? 8 : 16) || bits > (family === 4 ? 32 : 128)) faults.push(index);
    else blocks.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
  });
  return { blocks, faults };
};
