import { inspect } from "node:util";
import { Problem } from "#contract/problem.ts";
import { isRawNumber, type RawNumber } from "./lossless-json.ts";

/** What a secret holds. Maps are `Map`s, so no name of a key can reach a prototype. */
export type SecretData = string | number | boolean | null | RawNumber | readonly SecretData[] | SecretMap;
export type SecretMap = ReadonlyMap<string, SecretData>;

export const isSecretMap = (data: SecretData | undefined): data is SecretMap => data instanceof Map;

const MAX_VALUE_BYTES = 512 * 1024;
const MAX_KEYS = 1000;
const HIDDEN = "[secret]";

/**
 * A value on its way: prints `[secret]` wherever something prints it. `SecretValue.reveal` is the one way in; only the reply
 * and the demo's in-process reader call it.
 */
export class SecretValue {
  readonly #data: SecretData;
  constructor(data: SecretData) {
    this.#data = data;
  }
  static reveal(value: SecretValue): SecretData {
    return value.#data;
  }
  toString(): string {
    return HIDDEN;
  }
  toJSON(): string {
    return HIDDEN;
  }
  [Symbol.toPrimitive](): string {
    return HIDDEN;
  }
  [inspect.custom](): string {
    return HIDDEN;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Parsed JSON of a request as secret data. Throws `value_too_large` (422) beyond 512 KiB or 1,000 keys. */
export const parseSecretData = (value: unknown): SecretData => {
  if (Buffer.byteLength(JSON.stringify(value) ?? "") > MAX_VALUE_BYTES)
    throw new Problem("value_too_large", { detail: `A value has at most ${MAX_VALUE_BYTES} bytes.` });
  let keys = 0;
  const read = (part: unknown): SecretData => {
    if (part === null || typeof part === "string" || typeof part === "number" || typeof part === "boolean" || isRawNumber(part))
      return part;
    if (Array.isArray(part)) return part.map(read);
    if (!isObject(part)) throw new Problem("value_shape", { detail: "The value is not JSON." });
    const entries = Object.entries(part);
    keys += entries.length;
    if (keys > MAX_KEYS) throw new Problem("value_too_large", { detail: `A value has at most ${MAX_KEYS} keys.` });
    return new Map(entries.map(([name, item]) => [name, read(item)]));
  };
  return read(value);
};

/** Secret data as JSON that may leave: objects without prototype, numbers with all their digits. */
export const wireOf = (data: SecretData): unknown => {
  if (isSecretMap(data)) {
    const object = Object.create(null) as Record<string, unknown>;
    for (const [name, item] of data) object[name] = wireOf(item);
    return object;
  }
  return Array.isArray(data) ? data.map(wireOf) : data;
};
