import { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { inputCodes } from "#contract/endpoint-problems.ts";
import { Problem } from "#contract/problem.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import { parseLosslessJson } from "./lossless-json.ts";

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
    const fault = (message: string) => ({ errors: [{ path: `query.${name}`, message }] });
    if (!known.includes(name)) throw new Problem(codes.unknownParameter, fault("is not known here"));
    if (read.has(name)) throw new Problem(codes.repeatedParameter, fault("is given twice"));
    read.set(name, cut < 0 ? "" : decode(part.slice(cut + 1)));
  }
  return Object.fromEntries(read);
};

const requireWellFormed = (value: unknown): void => {
  if (typeof value === "string" && !value.isWellFormed())
    throw new Problem("body_unreadable", { detail: "The body holds half of a surrogate pair." });
  if (typeof value !== "object" || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    requireWellFormed(name);
    requireWellFormed(item);
  }
};

/**
 * Reads a body; of its value no digit is lost, all else is read as everywhere in the house. Throws `body_ambiguous` for a repeated member, `value_too_deep` beyond 32,
 * `body_unreadable` else (400).
 */
export const parseSecretBody = (bytes: Uint8Array): unknown => {
  const read = parseStrictJson(bytes, { depth: MAX_DEPTH, tooDeep: codes.deepBody, repeated: codes.repeatedMember, keepsUnfit: true });
  requireWellFormed(read);
  if (typeof read !== "object" || read === null || !("value" in read)) return read;
  const { value } = parseLosslessJson(new TextDecoder().decode(bytes)) as { readonly value?: unknown };
  return { ...read, value };
};
