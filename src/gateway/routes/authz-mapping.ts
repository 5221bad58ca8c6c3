import { isRawNumber } from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { fillText, namesIn, type RoutePattern } from "./route-pattern.ts";
import type { Mapping } from "./route-row.ts";

/** What a request asks the decision point. Values of a body are claims: a permit never reads them, a forbid may. */
export interface RouteAsk {
  readonly type: string;
  readonly action: string;
  readonly id: string | undefined;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly claimed: Readonly<Record<string, unknown>>;
}

const BODY_PATH = /^\$(?:\.[A-Za-z_][A-Za-z0-9_-]{0,63}|\[(?:0|[1-9][0-9]{0,3})\])+$/;
const MAX_ARRAY = 100;

const isBodyPath = (value: string): boolean => value.startsWith("$");

/** True: deciding needs the request's body, so it is read before the decision. */
export const readsBody = (mapping: Mapping): boolean => Object.values(mapping.props ?? {}).some(isBodyPath);

/** What is wrong with a mapping on this pattern; `at` is the path to it in its file. */
export const mappingIssues = (
  mapping: Mapping,
  pattern: RoutePattern,
  at: readonly PropertyKey[],
): { at: readonly PropertyKey[]; message: string }[] => {
  const issues: { at: readonly PropertyKey[]; message: string }[] = [];
  const check = (where: PropertyKey[], template: string) => {
    for (const name of namesIn(template))
      if (name !== "route" && !pattern.names.has(name))
        issues.push({ at: [...at, ...where], message: `{${name}} is not captured by ${pattern.text}` });
  };
  if (mapping.id !== undefined && mapping.id_from !== undefined) issues.push({ at, message: "has both id and id_from" });
  if (mapping.id === "*") issues.push({ at: [...at, "id"], message: "may not be *" });
  if (mapping.id_from !== undefined) {
    if (namesIn(mapping.id_from).length === 0) issues.push({ at: [...at, "id_from"], message: "takes a captured value, e.g. {id}" });
    check(["id_from"], mapping.id_from);
  }
  for (const [name, value] of Object.entries(mapping.props ?? {})) {
    if (isBodyPath(value)) {
      if (!BODY_PATH.test(value)) issues.push({ at: [...at, "props", name], message: "must be like $.a.b[0]" });
    } else check(["props", name], value);
  }
  return issues;
};

const valueAt = (body: unknown, path: string): unknown => {
  let value: unknown = body;
  for (const [, member, index] of path.matchAll(/\.([A-Za-z0-9_-]+)|\[([0-9]+)\]/g)) {
    if (member !== undefined) {
      if (!isObject(value) || !Object.hasOwn(value, member)) return undefined;
      value = value[member];
    } else {
      if (!Array.isArray(value)) return undefined;
      value = value[Number(index)];
    }
  }
  return value;
};

/** A claim is a scalar, or a short list of them; numbers only as far as every reader reads them alike. */
const claimIssue = (value: unknown): string | undefined => {
  if (value === undefined) return "is needed to decide this request";
  if (Array.isArray(value)) {
    if (value.length > MAX_ARRAY) return `has more than ${MAX_ARRAY} items`;
    return value.map(claimIssue).find((issue) => issue !== undefined);
  }
  if (isRawNumber(value)) return "is a number that no double holds";
  if (typeof value === "object" && value !== null) return "is an object";
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) return "is larger than can be read exactly";
  return undefined;
};

const pointerOf = (path: string): string =>
  path.slice(1).replace(/\.([A-Za-z0-9_-]+)|\[([0-9]+)\]/g, (_whole, member?: string, index?: string) => `/${member ?? index}`);

/**
 * Fills a mapping from the captures and the body. Throws `reserved_resource_id` (400) for an id that resolves to `*`, and
 * `unprocessable` (422), naming every claim that is absent or no scalar.
 */
export const resolveMapping = (mapping: Mapping, pattern: RoutePattern, captures: ReadonlyMap<string, string>, body: unknown): RouteAsk => {
  const id = mapping.id ?? (mapping.id_from === undefined ? undefined : fillText(mapping.id_from, captures, pattern.text));
  if (id === "*") throw new Problem("reserved_resource_id");
  const properties: Record<string, unknown> = {};
  const claimed: Record<string, unknown> = {};
  const issues: Issue[] = [];
  for (const [name, value] of Object.entries(mapping.props ?? {})) {
    if (!isBodyPath(value)) {
      properties[name] = fillText(value, captures, pattern.text);
      continue;
    }
    const found = valueAt(body, value);
    const message = claimIssue(found);
    if (message === undefined) claimed[name] = found;
    else issues.push({ path: pointerOf(value), message });
  }
  if (issues.length > 0) throw new Problem("unprocessable", { errors: issues });
  return { type: mapping.resource, action: mapping.action, id, properties, claimed };
};
