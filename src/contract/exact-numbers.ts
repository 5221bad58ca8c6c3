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

/** Sign and digits without zeros at either end; their value is digits x 10^exponent. */
interface Decimal {
  readonly sign: -1 | 0 | 1;
  readonly digits: string;
  readonly exponent: bigint;
}

/** Cost: linear in the text, however long its digits or its exponent. */
const decimalOf = (value: number | RawNumber): Decimal => {
  const [, minus = "", whole = "", part = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(digitsOf(value)) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  if (end === 0) return { sign: 0, digits: "", exponent: 0n };
  const power = BigInt(exponent) - BigInt(part.length) + BigInt(digits.length - end);
  return { sign: minus === "" ? 1 : -1, digits: digits.slice(0, end), exponent: power };
};

/** The same text for numbers of one value, and for none of another. */
export const valueText = (value: number | RawNumber): string => {
  const { sign, digits, exponent } = decimalOf(value);
  return `${sign < 0 ? "-" : ""}${digits === "" ? "0" : digits}e${exponent}`;
};

const orderOf = <T>(one: T, other: T): number => Number(one > other) - Number(one < other);

/** -1, 0 or 1 as one is less than, equal to or more than the other: exact on the digits. */
export const compareNumbers = (one: number | RawNumber, other: number | RawNumber): number => {
  const near = orderOf(Number(digitsOf(one)), Number(digitsOf(other)));
  if (near !== 0 || (typeof one === "number" && typeof other === "number")) return near;
  const [a, b] = [decimalOf(one), decimalOf(other)];
  const size = ({ digits, exponent }: Decimal): bigint => exponent + BigInt(digits.length);
  return orderOf(a.sign, b.sign) || a.sign * (orderOf(size(a), size(b)) || orderOf(a.digits, b.digits));
};

export const isWhole = (value: number | RawNumber): boolean =>
  typeof value === "number" ? Number.isInteger(value) : decimalOf(value).exponent >= 0n;

/** Whether a number is a whole multiple of another that is more than zero: 0.3 is one of 0.1. */
export const isMultipleOf = (value: number | RawNumber, of: number | RawNumber): boolean => {
  const [whole, step] = [decimalOf(value), decimalOf(of)];
  // Digits do not end in zero, so nothing makes up for decimal places that the step lacks.
  if (whole.exponent < step.exponent) return whole.sign === 0;
  // More tens than the step can have factors change nothing.
  const tens = Math.min(Number(whole.exponent - step.exponent), 4 * step.digits.length);
  return (BigInt(whole.digits) * 10n ** BigInt(tens)) % BigInt(step.digits) === 0n;
};

/** Whether a double holds the value of a number literal: 1.0 is 1, 1e2 is 100, -0 is 0; 9007199254740993 and 1e400 are held by none. */
export const isHeld = (text: string): boolean => {
  if (text.length > MAX_DIGITS) return false;
  const held = String(Number(text));
  return held === text || (Number.isFinite(Number(text)) && valueText(Number(text)) === valueText(json.rawJSON(text)));
};

export const digitsOf = (value: number | RawNumber): string => (typeof value === "number" ? String(value) : value.rawJSON);

/** No whole number that a double holds has more. */
const MAX_INTEGER_DIGITS = 309;

const withoutExponent = (value: number | RawNumber): number | RawNumber => {
  if (typeof value === "number" ? Math.abs(value) < 1e21 || !Number.isFinite(value) : /^-?\d+$/.test(value.rawJSON)) return value;
  const { sign, digits, exponent } = decimalOf(value);
  if (exponent < 0n || exponent + BigInt(digits.length) > MAX_INTEGER_DIGITS) return value;
  return json.rawJSON(`${sign < 0 ? "-" : ""}${digits || "0"}${"0".repeat(Number(exponent))}`);
};

/** As `JSON.stringify`, whole numbers with all their digits: to most readers 1e21 is another id than it stands for. */
export const sentJson = (value: unknown): string =>
  JSON.stringify(value, (_name, item: unknown) => (typeof item === "number" || isRawNumber(item) ? withoutExponent(item) : item));

/** A whole number of any size as JSON prints it. */
export const rawInteger = (value: bigint): RawNumber => json.rawJSON(String(value));

const parseBy = (text: string, numberOf: (source: string, value: number) => number | RawNumber): unknown =>
  json.parse(text, (_name, value, context) =>
    typeof value === "number" && context?.source !== undefined ? numberOf(context.source, value) : value,
  );

/** As `JSON.parse`, each number as it is written. Throws SyntaxError. */
export const parseLosslessJson = (text: string): unknown => parseBy(text, keepDigits);

/** What has no more digits, and no large exponent, a double holds. */
const MAYBE_INEXACT = /[\d.]{16}|[eE][-+]?\d{3}/;

/** As `JSON.parse`, a number that no double holds as its text. Throws SyntaxError. Cost: five times that of `JSON.parse` for a text with long numbers. */
export const parseExactJson = (text: string): unknown =>
  MAYBE_INEXACT.test(text) ? parseBy(text, (source, value) => (isHeld(source) ? value : json.rawJSON(source))) : JSON.parse(text);

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
