/**
 * JSON whose numbers keep every digit: 12345678901234567890 and 1.10 leave as they came. A number that a double holds
 * exactly as written is a plain number; any other is kept as its text (`JSON.rawJSON`), which `JSON.stringify` prints.
 */
export interface RawNumber {
  readonly rawJSON: string;
}

const json = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
  parse(text: string, reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
};

/** Number literal of JSON. */
export const isJsonNumber = (text: string): boolean => /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/.test(text);

export const isRawNumber = (value: unknown): value is RawNumber => json.isRawJSON(value);

/** `text` is a JSON number literal. */
export const keepDigits = (text: string): number | RawNumber => {
  const value = Number(text);
  return String(value) === text ? value : json.rawJSON(text);
};

export const digitsOf = (value: number | RawNumber): string => (typeof value === "number" ? String(value) : value.rawJSON);

/** As `JSON.parse`, without loss. Throws SyntaxError. */
export const parseLosslessJson = (text: string): unknown =>
  json.parse(text, (_name, value, context) =>
    typeof value === "number" && context.source !== undefined ? keepDigits(context.source) : value,
  );
