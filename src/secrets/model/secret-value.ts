import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { Problem } from "#contract/problem.ts";
import { digitsOf, isRawNumber, type RawNumber } from "#contract/exact-numbers.ts";

/** What a secret holds. Maps are `Map`s, so no name of a key can reach a prototype. */
export type SecretData = string | number | boolean | null | RawNumber | readonly SecretData[] | SecretMap;
export type SecretMap = ReadonlyMap<string, SecretData>;

export const isSecretMap = (data: SecretData | undefined): data is SecretMap => data instanceof Map;

const MAX_VALUE_BYTES = 512 * 1024;
/** Keys of maps and items of lists, at every depth: what a provider writes costs by the part. */
const MAX_PARTS = 1000;
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

/** Parsed JSON as secret data; of a number every digit. */
export const toSecretData = (part: unknown, count: (parts: number) => void = () => undefined): SecretData => {
  if (part === null || typeof part === "string" || typeof part === "number" || typeof part === "boolean" || isRawNumber(part)) return part;
  if (typeof part !== "object") throw new Problem("value_shape", { detail: "The value is not JSON." });
  const entries = Object.entries(part);
  count(entries.length);
  if (Array.isArray(part)) return part.map((item) => toSecretData(item, count));
  return new Map(entries.map(([name, item]) => [name, toSecretData(item, count)]));
};

/** Parsed JSON of a request as secret data. Throws `value_too_large` (422) beyond 512 KiB or 1,000 keys and items of lists. */
export const parseSecretData = (value: unknown): SecretData => {
  if (Buffer.byteLength(JSON.stringify(value) ?? "") > MAX_VALUE_BYTES)
    throw new Problem("value_too_large", { detail: `A value has at most ${MAX_VALUE_BYTES} bytes.` });
  let parts = 0;
  return toSecretData(value, (more) => {
    parts += more;
    if (parts > MAX_PARTS) throw new Problem("value_too_large", { detail: `A value has at most ${MAX_PARTS} keys and items.` });
  });
};

const isNumber = (data: SecretData): data is number | RawNumber => typeof data === "number" || isRawNumber(data);

/** Whether two values are the same, whatever the order of keys; a double that is written in two ways is one number. */
export const isSameData = (one: SecretData | undefined, other: SecretData | undefined): boolean => {
  if (one === undefined || other === undefined) return one === other;
  if (isSecretMap(one))
    return (
      isSecretMap(other) &&
      one.size === other.size &&
      [...one].every(([name, item]) => other.has(name) && isSameData(item, other.get(name)))
    );
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((item: SecretData, at) => isSameData(item, other[at] as SecretData))
    );
  if (isNumber(one) && isNumber(other))
    return (
      digitsOf(one) === digitsOf(other) ||
      ((typeof one === "number" || typeof other === "number") && Number(digitsOf(one)) === Number(digitsOf(other)))
    );
  return one === other;
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

/** A mark that is another one as soon as anything of the data is; of what is not there, `none`. It tells nothing of the data. */
export const markOf = (data: SecretData | undefined): string =>
  data === undefined
    ? "none"
    : createHash("sha256")
        .update(JSON.stringify(wireOf(data)))
        .digest("base64url");
