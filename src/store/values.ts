import type { SqlValue } from "./database.ts";

/**
 * The one codec of both adapters. All values travel in PostgreSQL's text form, so what a statement returns cannot
 * depend on which adapter ran it.
 */

type Decode = (text: string) => unknown;

/** What JSON escapes and an array does not: control characters and half surrogate pairs. */
const ESCAPED_IN_JSON_ONLY = /[\p{Cc}\p{Cs}]/u;

/** Both quote alike, with a backslash before quotes and backslashes; the engine's own code for JSON does it at a quarter of the cost. */
const quote = (text: string): string => (ESCAPED_IN_JSON_ONLY.test(text) ? `"${text.replace(/["\\]/g, "\\$&")}"` : JSON.stringify(text));

const element = (value: string | number | bigint | boolean | null): string =>
  value === null ? "NULL" : typeof value === "string" ? quote(value) : String(value);

/** Text of a parameter; null stays null. Throws TypeError for what a parameter cannot be (`undefined`, objects). */
export const encodeValue = (value: SqlValue): string | null => {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map(element).join(",")}}`;
  throw new TypeError(`a parameter cannot be ${value === undefined ? "undefined" : typeof value}`);
};

/** `2026-11-21 04:29:06.80123+00` -> `2026-11-21T04:29:06.801Z`; microseconds are cut, `infinity` stays as it is. */
const decodeTimestamp: Decode = (text) => {
  if (text.length < 20 || text[10] !== " ") return text;
  if (!text.endsWith("+00")) {
    const hours = /[+-]\d\d$/.test(text) ? `${text}:00` : text;
    return new Date(hours.replace(" ", "T")).toISOString();
  }
  const point = text.indexOf(".", 19);
  const fraction = point === -1 ? "" : text.slice(point + 1, -3);
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
};

const decodeBytes: Decode = (text) => new Uint8Array(Buffer.from(text.slice(2), "hex"));
const asIs: Decode = (text) => text;

/** `{a,"b ""c",NULL}` and nested arrays. */
const decodeArray = (text: string, decode: Decode): unknown[] => {
  let at = text.startsWith("[") ? text.indexOf("=") + 1 : 0;
  const readQuoted = (): string => {
    let held = "";
    for (at++; text[at] !== '"'; at++) {
      if (text[at] === "\\") at++;
      held += text[at];
    }
    at++;
    return held;
  };
  const readList = (): unknown[] => {
    const items: unknown[] = [];
    at++;
    while (text[at] !== "}") {
      if (text[at] === ",") at++;
      else if (text[at] === "{") items.push(readList());
      else if (text[at] === '"') items.push(decode(readQuoted()));
      else {
        const start = at;
        while (text[at] !== "," && text[at] !== "}") at++;
        const bare = text.slice(start, at);
        items.push(bare === "NULL" ? null : decode(bare));
      }
    }
    at++;
    return items;
  };
  return readList();
};

/** Oid of a type, oid of its arrays, and how its text is read; all others stay text. Each reader is called with the text alone. */
const types: readonly (readonly [oid: number, arrayOid: number, decode: Decode])[] = [
  [16, 1000, (text) => text === "t"],
  [17, 1001, decodeBytes],
  [18, 1002, asIs],
  [20, 1016, (text) => BigInt(text)],
  [21, 1005, (text) => Number(text)],
  [23, 1007, (text) => Number(text)],
  [25, 1009, asIs],
  [26, 1028, (text) => Number(text)],
  [114, 199, (text) => JSON.parse(text) as unknown],
  [700, 1021, (text) => Number(text)],
  [701, 1022, (text) => Number(text)],
  [1043, 1015, asIs],
  [1184, 1185, decodeTimestamp],
  [1700, 1231, asIs],
  [2950, 2951, asIs],
  [3802, 3807, (text) => JSON.parse(text) as unknown],
];
const decoders: ReadonlyMap<number, Decode> = new Map(
  types.flatMap(([oid, arrayOid, decode]): [number, Decode][] => [
    [oid, decode],
    [arrayOid, (text: string) => decodeArray(text, decode)],
  ]),
);

/** A column of a result, and how its text is read. */
export interface Column {
  readonly name: string;
  readonly decode: Decode;
}

export const columnOf = (name: string, oid: number): Column => ({ name, decode: decoders.get(oid) ?? asIs });

/** Rows as texts, decoded. Throws what a decoder throws. */
export const decodeRows = <Row>(columns: readonly Column[], rows: readonly (readonly (string | null)[])[]): readonly Row[] =>
  rows.map((fields) => {
    const row: Record<string, unknown> = {};
    columns.forEach(({ name, decode }, index) => {
      const text = fields[index] ?? null;
      row[name] = text === null ? null : decode(text);
    });
    return row as Row;
  });
