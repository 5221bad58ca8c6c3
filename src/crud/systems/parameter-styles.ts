import { isRawNumber, sentJson } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";

/** How a value is written where a parameter stands: the styles of OpenAPI 3, which are those of RFC 6570. `json` is a parameter with content. */
export const styles = ["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject", "json"] as const;
export type Style = (typeof styles)[number];
export type Pair = readonly [string, string];

/** Every character that RFC 3986 does not leave unreserved. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
/** As above, but for reserved characters that can neither end the value nor the query. */
const encodeFew = (text: string): string => encode(text).replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g, decodeURIComponent);

/** A value as text; what has parts of its own inside a list or map as JSON. Throws `invalid_arguments` for half a surrogate pair. */
export const textOf = (value: unknown, name: string): string => {
  const text = typeof value === "string" ? value : sentJson(value);
  if (!text.isWellFormed()) throw new Problem("invalid_arguments", { errors: [{ path: `/${name}`, message: "is no whole text" }] });
  return text;
};

const given = (map: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] =>
  Object.entries(map).filter(([, item]) => item !== undefined && item !== null);

/** `style: simple`, `label`, `matrix` of a path; empty where it says nothing. */
export const pathText = (name: string, value: unknown, style: Style, isExploded: boolean): string => {
  const write = (item: unknown): string => encode(textOf(item, name));
  if (style === "json") return encode(sentJson(value));
  const parts = isObject(value) ? given(value).map(([key, item]) => [encode(key), write(item)] as const) : undefined;
  const items = Array.isArray(value) ? value.map(write) : undefined;
  const pairs = (between: string): string[] => (parts ?? []).map(([key, item]) => `${key}${between}${item}`);
  const flat = (): string => items?.join(",") ?? (parts === undefined ? write(value) : pairs(",").join(","));
  if (style === "label") return `.${isExploded ? (items ?? (parts === undefined ? [write(value)] : pairs("="))).join(".") : flat()}`;
  if (style !== "matrix") return isExploded && parts !== undefined ? pairs("=").join(",") : flat();
  const own = (text: string): string => (text === "" ? `;${encode(name)}` : `;${encode(name)}=${text}`);
  if (!isExploded || (items === undefined && parts === undefined)) return own(flat());
  return items === undefined
    ? pairs("=")
        .map((pair) => `;${pair}`)
        .join("")
    : items.map(own).join("");
};

/** `simple` of a header: as it is, not encoded. */
export const headerText = (name: string, value: unknown, style: Style, isExploded: boolean): string => {
  const write = (item: unknown): string => textOf(item, name);
  const text = ((): string => {
    if (style === "json") return sentJson(value);
    if (Array.isArray(value)) return value.map(write).join(",");
    if (isObject(value))
      return given(value)
        .map(([key, item]) => `${key}${isExploded ? "=" : ","}${write(item)}`)
        .join(",");
    return write(value);
  })();
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text))
    throw new Problem("invalid_arguments", { errors: [{ path: `/${name}`, message: "cannot stand in a header" }] });
  return text;
};

const DELIMITERS: Partial<Readonly<Record<Style, string>>> = { form: ",", spaceDelimited: "%20", pipeDelimited: "%7C" };
const MOST_NESTED = 8;

/** `a[b][c]=1`, items by their number: what most servers of `deepObject` read. */
const deepPairs = (name: string, value: unknown, write: (item: unknown) => string, depth: number): readonly Pair[] => {
  if (value === undefined || value === null) return [];
  if (typeof value !== "object" || isRawNumber(value)) return [[name, write(value)]];
  if (depth > MOST_NESTED) throw new Problem("invalid_arguments", { errors: [{ path: `/${name}`, message: "is nested too deeply" }] });
  return Object.entries(value).flatMap(([key, item]) => deepPairs(`${name}[${key}]`, item, write, depth + 1));
};

/** Pairs of a query or of a form, names and values encoded; none for what is absent, or an empty list. */
export const queryPairs = (name: string, value: unknown, style: Style, isExploded: boolean, isReserved = false): readonly Pair[] => {
  if (value === undefined || value === null) return [];
  const write = (item: unknown): string => (isReserved ? encodeFew : encode)(textOf(item, name));
  const own = encode(name);
  if (style === "json") return [[own, encode(sentJson(value))]];
  if (style === "deepObject") return deepPairs(name, value, write, 0).map(([key, item]) => [encode(key), item]);
  const delimiter = DELIMITERS[style] ?? ",";
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    return isExploded ? value.map((item) => [own, write(item)]) : [[own, value.map(write).join(delimiter)]];
  }
  if (!isObject(value)) return [[own, write(value)]];
  const parts = given(value).map(([key, item]) => [encode(key), write(item)] as const);
  if (isExploded) return parts;
  return parts.length === 0 ? [] : [[own, parts.map((pair) => pair.join(delimiter)).join(delimiter)]];
};
