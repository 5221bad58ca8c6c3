/**
 * JSON whose numbers keep every digit. A number that a double does not hold is its text (`JSON.rawJSON`), which `JSON.stringify`
 * prints as it is. To anything that walks over values it looks like an object: `isRawNumber` comes first there, and `isObject` leaves it out.
 */
export interface RawNumber {
  readonly rawJSON: string;
}

const json = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
  /** Older browsers give no context: there a number is its double. */
  parse(text: string, reviver: (name: string, value: unknown, context?: { readonly source?: string }) => unknown): unknown;
};

/** Number literal of JSON. */
export const isJsonNumber = (text: string): boolean => /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/.test(text);

/** Cost: few nanoseconds for what has a prototype. */
export const isRawNumber = (value: unknown): value is RawNumber =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null && json.isRawJSON(value);

/** As it is written: 1.10 and 1.0 are texts. `text` is a JSON number literal. */
export const keepDigits = (text: string): number | RawNumber => {
  const value = Number(text);
  return String(value) === text ? value : json.rawJSON(text);
};

/** No double has more digits; a text of more is never looked at as a value. */
const MAX_DIGITS = 800;

/** Equal for texts of one value. */
const valueOf = (text: string): string => {
  const [, whole = "", part = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(text) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  return significant === "" ? "0" : `${significant}e${Number(exponent) - part.length + digits.length - significant.length}`;
};

/** Whether a double holds the value of a number literal: 1.0 is 1, 1e2 is 100, -0 is 0; 9007199254740993 and 1e400 are held by none. */
export const isHeld = (text: string): boolean => {
  const held = String(Number(text));
  return held === text || (text.length <= MAX_DIGITS && Number.isFinite(Number(text)) && valueOf(held) === valueOf(text));
};

export const digitsOf = (value: number | RawNumber): string => (typeof value === "number" ? String(value) : value.rawJSON);

/** A whole number of any size as JSON prints it. */
export const rawInteger = (value: bigint): RawNumber => json.rawJSON(String(value));

const parseBy = (text: string, numberOf: (source: string, value: number) => number | RawNumber): unknown =>
  json.parse(text, (_name, value, context) =>
    typeof value === "number" && context?.source !== undefined ? numberOf(context.source, value) : value,
  );

/** As `JSON.parse`, each number as it is written. Throws SyntaxError. */
export const parseLosslessJson = (text: string): unknown => parseBy(text, keepDigits);

/** As `JSON.parse`, a number that no double holds as its text. Throws SyntaxError. Cost: five times that of `JSON.parse`. */
export const parseExactJson = (text: string): unknown => parseBy(text, (source, value) => (isHeld(source) ? value : json.rawJSON(source)));

/** A copy with the nearest doubles, for what only compares. */
export const withDoubles = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value;
  if (isRawNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(withDoubles);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withDoubles(item)]));
};

/** Where numbers of a value stand that no double holds. */
export const rawNumberPaths = (value: unknown, at: readonly string[] = []): readonly (readonly string[])[] =>
  isRawNumber(value)
    ? [at]
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, item]) => rawNumberPaths(item, [...at, name]))
      : [];
