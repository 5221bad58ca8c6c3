import { isObject } from "#contract/is-object.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import { keyedDigest } from "#crud/mcp/digest.ts";
import type { CallParts, KnownCall } from "./tool-call.ts";

export interface Arguments {
  /** Frozen whole: what is decided is what is sent. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Keyed digest over RFC 8785, hex. */
  readonly digest: string;
  readonly names: readonly string[];
}

/** Its arguments fit. */
export interface GivenCall extends KnownCall {
  readonly given: Arguments;
}

const MAX_BYTES = 262_144;
const MAX_DEPTH = 32;
const MAX_VALUES = 10_000;

const freeze = (value: unknown, depth: number, count: { left: number }, faults: Fault[]): void => {
  if (--count.left < 0 || depth > MAX_DEPTH) {
    if (faults.length === 0)
      faults.push({ path: "", message: depth > MAX_DEPTH ? `is nested deeper than ${MAX_DEPTH}` : `has more than ${MAX_VALUES} values` });
    return;
  }
  if (typeof value === "number" && !Number.isFinite(value)) faults.push({ path: "", message: "has a number beyond a double" });
  if (typeof value === "string" && !value.isWellFormed()) faults.push({ path: "", message: "has text that is not Unicode" });
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) freeze(item, depth + 1, count, faults);
  Object.freeze(value);
};

/** Bounds, schema, freeze, digest. Throws `invalid_arguments` with every fault and no value. */
export const parseArguments = ({ call, tool }: KnownCall, { digestKey }: Pick<CallParts, "digestKey">): GivenCall => {
  const value = call.arguments === undefined ? {} : call.arguments;
  if (!isObject(value)) {
    throw new Problem("invalid_arguments", { errors: [{ path: "", message: "must be an object" }] });
  }
  const bounds: Fault[] = [];
  freeze(value, 0, { left: MAX_VALUES }, bounds);
  if (bounds.length === 0 && Buffer.byteLength(JSON.stringify(value)) > MAX_BYTES)
    bounds.push({ path: "", message: `is larger than ${MAX_BYTES} bytes` });
  const faults = bounds.length > 0 ? bounds : tool.checkArguments(value);
  if (faults.length > 0) throw new Problem("invalid_arguments", { errors: faults });
  const digest = keyedDigest(digestKey, value);
  return { call, tool, given: { value: value as Readonly<Record<string, unknown>>, digest, names: Object.keys(value).toSorted() } };
};
