import { createHash } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const DIGITS = 26;

/** `run_` or `task_` and the UUID in Crockford base32: ids sort as their UUIDs do. */
export const idOf = (prefix: "run" | "task", uuid: string): string => {
  let rest = BigInt(`0x${uuid.replaceAll("-", "")}`);
  let text = "";
  for (let digit = 0; digit < DIGITS; digit++) {
    text = ALPHABET.charAt(Number(rest % 32n)) + text;
    rest /= 32n;
  }
  return `${prefix}_${text}`;
};

/** UUID of a call: the same for the same attempt of a step, in whatever process (RFC 9562, version 8). */
export const callIdOf = (run: string, path: string, attempt: number): string => {
  const hex = createHash("sha256").update(`${run}:${path}#${attempt}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
