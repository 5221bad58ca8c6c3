import { ingestMetrics, metricsReport } from "#contract/health.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { foldKey, sensitiveParts, sensitiveWords } from "#contract/sensitive-keys.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import { readJson } from "#gateway/model/read-body.ts";
import { reply } from "#gateway/model/reply.ts";
import { isSensitiveValue } from "./sensitive-value.ts";

const MAX_BYTES = 16_384;
const MAX_DEPTH = 4;
const MAX_TEXT = 256;
const MAX_KEY = 128;
const MAX_EVENTS = 100;

const words = new Set(sensitiveWords);
const isSensitiveKey = (key: string): boolean => {
  const folded = foldKey(key);
  return words.has(folded) || sensitiveParts.some((part) => folded.includes(part));
};

/** Every place that must not be sent. Paths are told, values never, nor a key that is one itself. */
const findIssues = (value: unknown, path: string, depth: number, sensitive: Issue[], wrong: Issue[]): void => {
  if (depth > MAX_DEPTH) {
    wrong.push({ path, message: `is nested deeper than ${MAX_DEPTH}` });
    return;
  }
  if (typeof value === "string") {
    if (value.length > MAX_TEXT) wrong.push({ path, message: `is longer than ${MAX_TEXT}` });
    // A longer one is refused unread: looking through it would cost more than sending it.
    else if (isSensitiveValue(value)) sensitive.push({ path, message: "looks like a credential or a contact" });
    return;
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (key.length > MAX_KEY) wrong.push({ path, message: `has a key longer than ${MAX_KEY}` });
    else if (!Array.isArray(value) && isSensitiveValue(key))
      sensitive.push({ path, message: "has a key that looks like a credential or a contact" });
    else if (!Array.isArray(value) && isSensitiveKey(key))
      sensitive.push({ path: `${path}/${key}`, message: "names a secret, a contact or a person" });
    else findIssues(item, `${path}/${key}`, depth + 1, sensitive, wrong);
  }
};

/**
 * `POST /api/v1/metrics`: counts what clients report, all of a call or nothing. Throws `sensitive_key` (422) for a payload
 * that names or holds personal data or a secret, `invalid_body` (422), `body_too_large` (413).
 */
export const createMetricsIngestion = (metrics: Metrics): BuiltInHandler => {
  const known = new Set<string>();
  const label = (name: string): string => {
    if (known.has(name)) return name;
    if (known.size >= MAX_EVENTS) return "other";
    known.add(name);
    return name;
  };
  return async ({ inbound }) => {
    const site = inbound.headers.get("sec-fetch-site");
    if (site === "cross-site") throw new Problem("csrf_failed", { members: { reason: "cross_site" } });
    const read = await readJson(inbound, metricsReport, MAX_BYTES);
    const events = "events" in read ? read.events : [read];
    const sensitive: Issue[] = [];
    const wrong: Issue[] = [];
    for (const [index, item] of events.entries())
      findIssues(item.attributes ?? {}, `${"events" in read ? `/events/${index}` : ""}/attributes`, 1, sensitive, wrong);
    if (sensitive.length > 0) throw new Problem("sensitive_key", { errors: sensitive });
    if (wrong.length > 0) throw new Problem("invalid_body", { errors: wrong });
    for (const item of events) metrics.count("bff_public_metrics_total", { event: label(item.event) });
    return reply(ingestMetrics, { accepted: events.length });
  };
};
