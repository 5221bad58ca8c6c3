import { parseExactJson } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import type { Place } from "#parsing/schema-rules.ts";
import { keyedDigest } from "#crud/model/digest.ts";
import { principalOf, type CallParts, type ResolvedCall } from "#crud/tools/tool-call.ts";

export interface Arguments {
  /** Frozen whole: what is decided is what is sent. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Keyed digest over RFC 8785, hex. */
  readonly digest: string;
  readonly names: readonly string[];
  /** Of a tool whose answers are cut: how many items of the list were given before, and the cursor for so many. */
  readonly page?: { readonly from: number; next(items: number): string };
}

/** Its arguments fit. */
export interface ValidatedCall extends ResolvedCall {
  readonly given: Arguments;
}

const MAX_BYTES = 262_144;
const MAX_DEPTH = 32;
const MAX_VALUES = 10_000;

const freeze = (value: unknown, depth: number, count: { left: number }, issues: Issue[]): void => {
  if (--count.left < 0 || depth > MAX_DEPTH) {
    if (issues.length === 0)
      issues.push({ path: "", message: depth > MAX_DEPTH ? `is nested deeper than ${MAX_DEPTH}` : `has more than ${MAX_VALUES} values` });
    return;
  }
  if (typeof value === "number" && !Number.isFinite(value)) issues.push({ path: "", message: "has a number beyond a double" });
  if (typeof value === "string" && !value.isWellFormed()) issues.push({ path: "", message: "has text that is not Unicode" });
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) freeze(item, depth + 1, count, issues);
  Object.freeze(value);
};

/** Text of a whole number that no double is sure to hold. */
const isLargeInteger = (text: string): boolean => /^-?[1-9]\d{15,99}$/.test(text) && !Number.isSafeInteger(Number(text));

/** A copy in which such texts at these places are the numbers themselves. */
const withIntegers = (value: unknown, places: readonly Place[]): unknown => {
  type Members = Record<PropertyKey, unknown>;
  const copy = parseExactJson(JSON.stringify(value)) as Members;
  const at = (place: Place | undefined): Members => (place === undefined ? copy : (at(place.up)[place.key] as Members));
  for (const { up, key } of places) {
    const text = at(up)[key];
    if (typeof text === "string" && isLargeInteger(text)) at(up)[key] = parseExactJson(text);
  }
  return copy;
};

/** Arguments that fit, or what is wrong with them. An id beyond 2^53 is also taken as text where the schema says integer. */
const fitArguments = async (
  value: unknown,
  { call, tool }: ResolvedCall,
): Promise<{ readonly value: unknown; readonly issues: readonly Issue[] }> => {
  const caller = { tenant: call.caller.tenant, signal: call.signal };
  const integers: Place[] = [];
  const issues = await tool.checkArguments(value, { ...caller, integers });
  if (integers.length === 0) return { value, issues };
  const fit = withIntegers(value, integers);
  return { value: fit, issues: await tool.checkArguments(fit, caller) };
};

type ArgumentParts = Pick<CallParts, "digestKey" | "answerCursor">;

/** Where the answer goes on, for the same call of the same person alone. Throws `invalid_arguments`. */
const pageOf = ({ call, tool }: ResolvedCall, digest: string, cursor: unknown, { answerCursor }: ArgumentParts): Arguments["page"] => {
  const bound = [principalOf(call.caller), tool.name, tool.digest, digest];
  const next = (items: number): string => answerCursor.seal(items, bound);
  if (cursor === undefined) return { from: 0, next };
  try {
    return { from: answerCursor.open(typeof cursor === "string" ? cursor : "", bound), next };
  } catch (cause) {
    throw new Problem("invalid_arguments", {
      errors: [{ path: "/cursor", message: "is no next_cursor of this call, or too old: call without it" }],
      cause,
    });
  }
};

/**
 * Bounds, schema, freeze, digest; the cursor of a cut answer is no argument: it is neither decided on nor sent. Throws `invalid_arguments`
 * with every issue and no value, `overloaded`.
 */
export const parseArguments = async ({ call, tool }: ResolvedCall, parts: ArgumentParts): Promise<ValidatedCall> => {
  const given = call.arguments === undefined ? {} : call.arguments;
  if (!isObject(given)) {
    throw new Problem("invalid_arguments", { errors: [{ path: "", message: "must be an object" }] });
  }
  const isCut = tool.rules.cutsAtBytes !== undefined;
  const sent = isCut ? Object.fromEntries(Object.entries(given).filter(([name]) => name !== "cursor")) : given;
  const bounds: Issue[] = [];
  freeze(sent, 0, { left: MAX_VALUES }, bounds);
  if (bounds.length === 0 && Buffer.byteLength(JSON.stringify(sent)) > MAX_BYTES)
    bounds.push({ path: "", message: `is larger than ${MAX_BYTES} bytes` });
  const { value, issues } = bounds.length > 0 ? { value: sent, issues: bounds } : await fitArguments(sent, { call, tool });
  freeze(value, 0, { left: MAX_VALUES }, bounds);
  if (issues.length > 0) throw new Problem("invalid_arguments", { errors: issues });
  const digest = keyedDigest(parts.digestKey, value);
  const page = isCut ? { page: pageOf({ call, tool }, digest, given["cursor"], parts) } : {};
  return {
    call,
    tool,
    given: { value: value as Readonly<Record<string, unknown>>, digest, names: Object.keys(sent).toSorted(), ...page },
  };
};
