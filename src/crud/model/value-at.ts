import { isObject } from "#contract/is-object.ts";
import type { Pointer } from "#contract/json-pointer.ts";

const step = (value: unknown, part: string): unknown => {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(part) ? value[Number(part)] : undefined;
  return isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
};

/** The value at a pointer; `undefined` if it is not there. */
export const valueAt = (value: unknown, pointer: Pointer): unknown => pointer.reduce(step, value);

/** A copy in which each value at the pointer (every item for `*`) is replaced; `undefined` from `change` takes the member away. */
export const changeAt = (value: unknown, pointer: Pointer, change: (value: unknown) => unknown): unknown => {
  const [part, ...rest] = pointer;
  if (part === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.map((item, index) => (part === "*" || part === String(index) ? changeAt(item, rest, change) : (item as unknown)));
  }
  if (!isObject(value) || !Object.hasOwn(value, part)) return value;
  const next = changeAt(value[part], rest, change);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (name === part ? (next === undefined ? [] : [[name, next]]) : [[name, item]])),
  );
};
