import { Problem } from "#contract/problem.ts";
import { isObject } from "#contract/is-object.ts";
import type { Sealer } from "#authn/sealing/seal.ts";
import { hasRedaction, REDACTED, replaceRedacted, shownAs, textsIn } from "./redacted-parts.ts";

/**
 * A sealed value is a text, so that it passes through expressions, rows and arguments like any other: `<sealed:..>`, with what of it may be
 * shown behind a dot. It opens at its own place alone.
 */
const TOKEN = /<sealed:([\w-]{50,})(?:\.([\w-]+))?>/g;

export interface ValueSeals {
  /** A value with what any of its schemas marks as `x-redact` sealed for a place, such as the id of a run. Throws `secrets_unavailable`. */
  seal(schemas: readonly unknown[], value: unknown, place: string): Promise<unknown>;
  /**
   * A value with all that is sealed in it, and the texts that were. A text around a sealed one holds its value as text. Throws
   * `secrets_unavailable`, and `invalid_arguments` for what does not open here.
   */
  open(value: unknown, place: string): Promise<{ readonly value: unknown; readonly texts: readonly string[] }>;
}

const mapTexts = (value: unknown, change: (text: string) => unknown): unknown => {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, change)]));
};

const hasSealed = (value: unknown): boolean => JSON.stringify(value)?.includes("<sealed:") === true;

/** `sealer` is asked for with the first value. */
export const createValueSeals = (sealer: () => Promise<Sealer>): ValueSeals => ({
  seal: async (schemas, value, place) => {
    if (!schemas.some(hasRedaction)) return value;
    const { seal } = await sealer();
    return replaceRedacted(schemas, value, (part, how) => {
      const sealed = Buffer.from(seal(JSON.stringify(part), place)).toString("base64url");
      const shown = shownAs(part, how);
      return `<sealed:${sealed}${shown === REDACTED ? "" : `.${Buffer.from(shown).toString("base64url")}`}>`;
    });
  },
  open: async (value, place) => {
    if (!hasSealed(value)) return { value, texts: [] };
    const { open } = await sealer();
    const texts: string[] = [];
    const opened = (token: string): unknown => {
      const plain = open(Buffer.from(token, "base64url"), place);
      if (plain === undefined) throw new Problem("invalid_arguments", { detail: "A sealed value does not open here." });
      const part: unknown = JSON.parse(plain);
      textsIn(part, texts);
      return part;
    };
    const whole = mapTexts(value, (text) => {
      const [only] = text.matchAll(TOKEN);
      if (only?.[0] === text) return opened(only[1] ?? "");
      return text.replaceAll(TOKEN, (_token, sealed: string) => {
        const part = opened(sealed);
        return typeof part === "string" ? part : JSON.stringify(part);
      });
    });
    return { value: whole, texts };
  },
});

/** A value as it may be shown: `***` for all that is sealed in it. Needs no key. */
export const hideSealed = <T>(value: T): T =>
  hasSealed(value)
    ? (mapTexts(value, (text) =>
        text.replaceAll(TOKEN, (_token, _sealed, shown?: string) =>
          shown === undefined ? REDACTED : Buffer.from(shown, "base64url").toString(),
        ),
      ) as T)
    : value;

/** A schema that marks what is sealed in a value, so that it is sealed again elsewhere. */
export const sealedPlaces = (value: unknown): Readonly<Record<string, unknown>> => {
  if (typeof value === "string") {
    const [only] = value.matchAll(TOKEN);
    return only?.[0] === value ? { "x-redact": only[2] === undefined ? true : "last4" } : {};
  }
  if (Array.isArray(value)) return { prefixItems: value.map(sealedPlaces) };
  if (!isObject(value)) return {};
  return { properties: Object.fromEntries(Object.entries(value).map(([name, item]) => [name, sealedPlaces(item)])) };
};
