/** What a history entry changed, as short lines: `member: before → after`. */

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string =>
  value === undefined || value === null ? "-" : typeof value === "string" ? value : JSON.stringify(value);

/** Members that say nothing to a person. */
const quiet = new Set(["id", "version", "rev", "updated_at", "path", "tenant_id"]);

/** What a person wants to know of a creation; all the rest stands on the page. */
const told = new Set(["status", "capabilities", "max_steps", "budget_usd", "expires_at"]);

export const changeOf = (before: unknown, after: unknown): readonly string[] => {
  const old = isObject(before) ? before : {};
  const now = isObject(after) ? after : {};
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter(
      (name) =>
        (isObject(before) || told.has(name)) && !quiet.has(name) && JSON.stringify(old[name] ?? null) !== JSON.stringify(now[name] ?? null),
    )
    .map((name) => (isObject(before) ? `${name}: ${textOf(old[name])} \u2192 ${textOf(now[name])}` : `${name}: ${textOf(now[name])}`));
};
