import { isObject } from "#contract/is-object.ts";
import { delegationWords } from "../../strings/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatMoney } from "../../strings/format.ts";

/** What a history entry changed, as short lines in the page's own words: `Status: Active → Revoked`. */

const plain = (value: unknown): string =>
  value === undefined || value === null
    ? "-"
    : typeof value === "string"
      ? value
      : Array.isArray(value) && value.every((one) => typeof one === "string")
        ? value.join(", ") || "-"
        : JSON.stringify(value);

const momentOf = (value: unknown): string =>
  typeof value === "string" && !Number.isNaN(Date.parse(value)) ? formatMoment(value) : plain(value);
const wordFrom =
  (known: Readonly<Record<string, string>>) =>
  (value: unknown): string =>
    typeof value === "string" && Object.hasOwn(known, value) ? (known[value] ?? value) : plain(value);
const { verdict } = words;
const statuses = { active: verdict.active, paused: verdict.paused, revoked: verdict.revoked, expired: verdict.expired };

/** Values that read otherwise than they are kept. Absent is not null: before there was a delegation it had no end either. */
const values: Readonly<Record<string, (value: unknown) => string>> = {
  status: wordFrom(statuses),
  hold: wordFrom(delegationWords.holds),
  capabilities: (value) => (value === null ? delegationWords.allTools : plain(value)),
  budget_usd: (value) => (typeof value === "number" ? formatMoney(value) : plain(value)),
  expires_at: (value) => (value === null ? delegationWords.never : momentOf(value)),
  valid_from: momentOf,
  created_at: momentOf,
  ended_at: momentOf,
};

/** Members that say nothing to a person. */
const quiet = new Set(["id", "version", "rev", "updated_at", "path", "tenant_id"]);

/** What a person wants to know of a creation; all the rest stands on the page. */
const reported = new Set(["status", "capabilities", "max_steps", "budget_usd", "expires_at"]);

export const changeOf = (before: unknown, after: unknown): readonly string[] => {
  const old = isObject(before) ? before : {};
  const now = isObject(after) ? after : {};
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter(
      (name) =>
        (isObject(before) || reported.has(name)) &&
        !quiet.has(name) &&
        JSON.stringify(old[name] ?? null) !== JSON.stringify(now[name] ?? null),
    )
    .map((name) => {
      const textOf = values[name] ?? plain;
      const title = words.common.named(delegationWords.fields[name] ?? name);
      return isObject(before) ? `${title}${textOf(old[name])} \u2192 ${textOf(now[name])}` : `${title}${textOf(now[name])}`;
    });
};
