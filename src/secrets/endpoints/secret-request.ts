import { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { inputCodes } from "#contract/endpoint-problems.ts";
import { isObject } from "#contract/is-object.ts";
import { issueOfJson } from "#contract/json-members.ts";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import { parseLosslessJson } from "#contract/exact-numbers.ts";

const MAX_DEPTH = 32;
const codes = inputCodes.secrets;

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new Problem(codes.badEncoding, { cause });
  }
};

const namesOf = (endpoint: Endpoint): readonly string[] => (endpoint.query instanceof z.ZodObject ? Object.keys(endpoint.query.shape) : []);

/**
 * Reads a query: percent-decoded exactly once, and `+` stays `+`, for a scheme may hold one. Throws `query_repeated`,
 * `query_unknown`, `query_encoding` (400).
 */
export const readSecretQuery = (url: URL, endpoint: Endpoint): Readonly<Record<string, string>> => {
  const known = namesOf(endpoint);
  const read = new Map<string, string>();
  for (const part of url.search.slice(1).split("&")) {
    if (part === "") continue;
    const cut = part.indexOf("=");
    const name = decode(cut < 0 ? part : part.slice(0, cut));
    const issue = (message: string) => ({ errors: [{ path: `query.${name}`, message }] });
    if (!known.includes(name)) throw new Problem(codes.unknownParameter, issue("is not known here"));
    if (read.has(name)) throw new Problem(codes.repeatedParameter, issue("is given twice"));
    read.set(name, cut < 0 ? "" : decode(part.slice(cut + 1)));
  }
  return Object.fromEntries(read);
};

const withValue = (read: unknown, lossless: unknown): unknown =>
  isObject(read) && isObject(lossless) && Object.hasOwn(read, "value") ? { ...read, value: lossless["value"] } : read;

/** The value of a body, and of each operation of a bulk, as it stands in the text. */
const withValues = (read: unknown, lossless: unknown): unknown => {
  const body = withValue(read, lossless);
  if (!isObject(body) || !Array.isArray(body["operations"])) return body;
  const { operations } = lossless as { readonly operations: readonly unknown[] };
  return { ...body, operations: body["operations"].map((one: unknown, at) => withValue(one, operations[at])) };
};

/**
 * Reads a body; of its values no digit is lost, all else is read as everywhere in Sallyport. Throws `body_ambiguous` for a repeated member, `value_too_deep` beyond 32,
 * `body_unreadable` else (400).
 */
export const parseSecretBody = (bytes: Uint8Array): unknown => {
  // A number of a value may be larger than a double: what is unfit is looked for once the values are read.
  const read = parseStrictJson(bytes, { depth: MAX_DEPTH, tooDeep: codes.deepBody, repeated: codes.repeatedMember, keepsUnfit: true });
  const body = withValues(read, parseLosslessJson(new TextDecoder().decode(bytes)));
  const unfit = issueOfJson(body, true);
  if (unfit !== undefined) throw new Problem("body_unreadable", { detail: `The body ${unfit}.` });
  return body;
};
