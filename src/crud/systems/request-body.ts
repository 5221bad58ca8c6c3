import { randomBytes } from "node:crypto";
import { sentJson } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import { queryPairs, textOf, type Style } from "./parameter-styles.ts";

/** How one property of a form is sent. */
export interface PropertyEncoding {
  readonly style?: Style | undefined;
  readonly explode?: boolean | undefined;
  readonly media?: string | undefined;
  /** Its text is base64 of the bytes that are sent. */
  readonly base64?: boolean | undefined;
}
export interface BodyRules {
  readonly media: string;
  readonly base64: boolean;
  readonly encoding: Readonly<Record<string, PropertyEncoding>>;
}
export interface SentBody {
  readonly type: string;
  readonly content: string | Uint8Array;
}

export const FORM = "application/x-www-form-urlencoded";
export const MULTIPART = "multipart/form-data";
/** JSON, and YAML, whose every JSON text is one. */
export const isJsonMedia = (media: string): boolean => /^(?:application|text)\/(?:[a-z0-9!#$&^_.+-]*\+)?(?:json|x?-?yaml)$/i.test(media);

const bytesOf = (value: unknown, name: string): Uint8Array => {
  if (typeof value !== "string" || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(value))
    throw new Problem("invalid_arguments", { errors: [{ path: `/${name}`, message: "must be base64" }] });
  return Buffer.from(value, "base64");
};

const isPlain = (value: unknown): boolean => !isObject(value) && !Array.isArray(value);

const formOf = (value: Readonly<Record<string, unknown>>, { encoding }: BodyRules): string =>
  Object.entries(value)
    .flatMap(([name, item]) => {
      const rule = Object.hasOwn(encoding, name) ? encoding[name] : undefined;
      const asJson = rule?.style === undefined && (isObject(item) || isJsonMedia(rule?.media ?? ""));
      return queryPairs(name, item, asJson ? "json" : (rule?.style ?? "form"), rule?.explode ?? true);
    })
    .map((pair) => pair.join("="))
    .join("&");

/** As a browser writes it: what would end the name is encoded. */
const partName = (text: string): string => text.replace(/["\r\n]/g, (char) => encodeURIComponent(char));

const multipartOf = (value: Readonly<Record<string, unknown>>, { encoding }: BodyRules): SentBody => {
  const boundary = `part-${randomBytes(16).toString("hex")}`;
  const pieces: Uint8Array[] = [];
  const add = (name: string, item: unknown): void => {
    if (item === undefined || item === null) return;
    const rule = (Object.hasOwn(encoding, name) ? encoding[name] : undefined) ?? {};
    if (Array.isArray(item) && !isJsonMedia(rule.media ?? "")) return item.forEach((one) => add(name, one));
    const isBytes = rule.base64 === true;
    const asJson = !isBytes && (!isPlain(item) || isJsonMedia(rule.media ?? ""));
    const media = rule.media ?? (isBytes ? "application/octet-stream" : asJson ? "application/json" : undefined);
    const file = isBytes ? `; filename="${partName(name)}"` : "";
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${partName(name)}"${file}\r\n${media === undefined ? "" : `Content-Type: ${media}\r\n`}\r\n`;
    const content = isBytes ? bytesOf(item, name) : Buffer.from(asJson ? sentJson(item) : textOf(item, name));
    pieces.push(Buffer.from(head), content, Buffer.from("\r\n"));
  };
  for (const [name, item] of Object.entries(value)) add(name, item);
  return { type: `${MULTIPART}; boundary=${boundary}`, content: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]) };
};

/** A body as its media type has it. Throws `invalid_arguments`. */
export const writeBody = (value: unknown, rules: BodyRules): SentBody => {
  const { media } = rules;
  if (rules.base64) return { type: media, content: bytesOf(value, "body") };
  if (isJsonMedia(media)) return { type: media, content: sentJson(value) };
  if (media === FORM || media === MULTIPART) {
    if (!isObject(value)) throw new Problem("invalid_arguments", { errors: [{ path: "/body", message: "must be an object" }] });
    return media === FORM ? { type: media, content: formOf(value, rules) } : multipartOf(value, rules);
  }
  return { type: media, content: textOf(value, "body") };
};
