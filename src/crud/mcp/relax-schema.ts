import { isObject } from "#contract/is-object.ts";
import { parsePointer, type Pointer } from "#contract/json-pointer.ts";

/** What a mask can leave of a member: nothing, null, or a text. */
const masked = (schema: unknown): Record<string, unknown> => {
  const from = isObject(schema) ? schema : {};
  const types = Array.isArray(from["type"]) ? from["type"] : from["type"] === undefined ? [] : [from["type"]];
  return {
    ...(from["title"] === undefined ? {} : { title: from["title"] }),
    ...(from["description"] === undefined ? {} : { description: from["description"] }),
    ...(types.length === 0 ? {} : { type: [...new Set([...types, "string", "null"])] }),
  };
};

const relaxAt = (schema: unknown, pointer: Pointer): unknown => {
  const [part, ...rest] = pointer;
  if (part === undefined) return masked(schema);
  if (!isObject(schema)) return schema;
  if (isObject(schema["items"]) && (part === "*" || /^\d+$/.test(part))) return { ...schema, items: relaxAt(schema["items"], rest) };
  const properties = schema["properties"];
  if (!isObject(properties) || !Object.hasOwn(properties, part)) return schema;
  const required =
    Array.isArray(schema["required"]) && rest.length === 0 ? schema["required"].filter((name) => name !== part) : schema["required"];
  return {
    ...schema,
    properties: { ...properties, [part]: relaxAt(properties[part], rest) },
    ...(required === undefined ? {} : { required }),
  };
};

/**
 * The output schema as it is published: where a mask can act the member is optional and may be null or a text, so that
 * clients that validate do not fail on what was hidden from them.
 */
export const relaxSchema = (schema: Readonly<Record<string, unknown>>, pointers: readonly string[]): Readonly<Record<string, unknown>> =>
  pointers.map(parsePointer).reduce<unknown>((held, pointer) => relaxAt(held, pointer), schema) as Readonly<Record<string, unknown>>;
