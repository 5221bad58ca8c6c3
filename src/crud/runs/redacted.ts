import { isObject } from "#contract/is-object.ts";

const REDACTED = "***";

/** A value with what its JSON Schema marks `x-redact` as `***`. */
export const redacted = (schema: unknown, value: unknown): unknown => {
  if (!isObject(schema)) return value;
  if (schema["x-redact"] !== undefined && schema["x-redact"] !== false) return value === undefined ? undefined : REDACTED;
  if (Array.isArray(value)) return value.map((item: unknown) => redacted(schema["items"], item));
  const { properties } = schema;
  if (!isObject(value) || !isObject(properties)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, Object.hasOwn(properties, name) ? redacted(properties[name], member) : member]),
  );
};
