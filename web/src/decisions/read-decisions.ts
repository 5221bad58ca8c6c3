import { isObject } from "#contract/is-object.ts";
/** Answers of the decision point, read so that nothing but a clean yes is a yes. */

export type Reading = "allowed" | "denied" | "unusable";

const NAMES = ["decision", "allowed", "allow"] as const;

const hasError = (item: Readonly<Record<string, unknown>>): boolean =>
  (item["error"] !== undefined && item["error"] !== null) || (isObject(item["context"]) && isObject(item["context"]["error"]));

/**
 * One result. Of `decision`, `allowed` and `allow` those present must be strictly boolean and agree; a result with an
 * error, with none of the three, or that names another question than the one asked, cannot be used.
 */
export const readDecision = (item: unknown, key?: string): Reading => {
  if (!isObject(item) || hasError(item)) return "unusable";
  if (key !== undefined && item["key"] !== undefined && item["key"] !== key) return "unusable";
  const present = NAMES.filter((name) => Object.hasOwn(item, name)).map((name) => item[name]);
  if (present.length === 0 || present.some((value) => typeof value !== "boolean")) return "unusable";
  if (present.some((value) => value !== present[0])) return "unusable";
  return present[0] === true ? "allowed" : "denied";
};

const resultsOf = (body: unknown): unknown => (isObject(body) ? (body["evaluations"] ?? body["decisions"] ?? body["results"]) : undefined);

/** A text that the answer to one question of a batch has beside its yes or no; `undefined` where it does not say. */
export const readDecisionText = (body: unknown, key: string, position: number, name: "decision_id" | "reason"): string | undefined => {
  const results = resultsOf(body);
  const item: unknown = Array.isArray(results)
    ? results[position]
    : isObject(results) && Object.hasOwn(results, key)
      ? results[key]
      : undefined;
  const context = isObject(item) ? item["context"] : undefined;
  const text = isObject(context) ? context[name] : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
};

/** One reading a key, in the order of the keys, whatever came: an array in order, or an object by key. */
export const readBatch = (body: unknown, keys: readonly string[]): readonly Reading[] => {
  const results = resultsOf(body);
  if (Array.isArray(results)) {
    if (results.length > keys.length) return keys.map(() => "unusable");
    return keys.map((key, index) => readDecision(results[index], key));
  }
  if (!isObject(results)) return keys.map(() => "unusable");
  return keys.map((key) => (Object.hasOwn(results, key) ? readDecision(results[key], key) : "unusable"));
};
