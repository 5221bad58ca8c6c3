import { createHash } from "node:crypto";
import { nodeId } from "#contract/ids.ts";

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** 26 characters of base32: 130 bits of a SHA-256. */
export const shortHash = (...parts: readonly string[]): string => {
  const bits = BigInt(`0x${createHash("sha256").update(parts.join("\n")).digest("hex")}`) >> 126n;
  return Array.from({ length: 26 }, (_none, at) => BASE32[Number((bits >> BigInt(5 * (25 - at))) & 31n)]).join("");
};

/** The id of a node that another system names: `<prefix>:<system>:<its name>`, the name's hash where no id may be so. */
export const foreignId = (prefix: string, system: string, name: string): string => {
  const plain = `${prefix}:${system}:${name}`;
  return nodeId.safeParse(plain).success ? plain : `${prefix}:${system}:${shortHash(name)}`;
};
