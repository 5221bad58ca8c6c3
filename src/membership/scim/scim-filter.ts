import { Types } from "scimmy";
import { isObject } from "#contract/is-object.ts";
import { asClientFault, ScimError } from "./scim-error.ts";
import type { Lookup } from "./scim-store.ts";
import { leadsToShared } from "./shared-names.ts";

const MOST_CHARACTERS = 1_000;
/** Of "or" that a filter may come to once it is multiplied out, and of backslashes: the library's time doubles with each of these. */
const MOST_BRANCHES = 256;
const MOST_BACKSLASHES = 10;
/** As the library cuts a filter: texts and brackets end at the first sign that may end them, and operators need nothing before them. */
const PIECES = /"[^"]*"|\((.*?)\)|\[(.*?)\]|(?:or|and)(?![a-z0-9])/gi;

/** At least as many branches as the library makes of a filter: it multiplies each bracket that holds an "or" with whatever is joined to it. */
const branchesOf = (text: string): number => {
  let [ors, ands, inner] = [1, 1, 1];
  const brackets: number[] = [];
  for (const [piece, group, values] of text.matchAll(PIECES)) {
    if (group !== undefined || values !== undefined) brackets.push(branchesOf(group ?? values ?? ""));
    else if (piece.toLowerCase() === "or") ors += 1;
    else if (piece.toLowerCase() === "and") ands += 1;
  }
  for (const branches of brackets) if (branches > 1) inner *= branches * ands;
  return ors * inner;
};

/** Whether the library can read a filter, or a path that holds one, in little time. */
export const isReadable = (text: string): boolean =>
  text.length <= MOST_CHARACTERS &&
  !/\p{Cc}/u.test(text) &&
  !leadsToShared(text) &&
  text.split("\\").length - 1 <= MOST_BACKSLASHES &&
  branchesOf(text) <= MOST_BRANCHES;

export interface ScimFilter {
  /** The whole filter is this one comparison, which the database makes. */
  readonly lookup?: { readonly by: Lookup; readonly value: string };
  /** Whether it lets the resource through. */
  match(resource: object): boolean;
}

const comparisons: ReadonlySet<unknown> = new Set(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);
const TEXTS = /"(?:[^"\\]|\\.)*"/g;
/** A word that joins to something, at the end of what it stands in. */
const DANGLING = /\b(?:and|or|not)\s*(?:$|[)\]])/i;

/** Every comparison has what it compares with; the library lets an unfinished one pass. */
const isWhole = (expression: unknown): boolean => {
  if (Array.isArray(expression)) {
    if (expression.some((part) => Array.isArray(part) || isObject(part))) return expression.every(isWhole);
    const [operator, value] = expression as readonly unknown[];
    if (operator === "not") return isWhole(expression.slice(1));
    return operator === "pr" || operator === "np" ? true : comparisons.has(operator) && value !== undefined;
  }
  return isObject(expression) && Object.keys(expression).length > 0 && Object.values(expression).every(isWhole);
};

const lookups: ReadonlySet<string> = new Set<Lookup>(["username", "displayname", "externalid", "id"]);
const isLookup = (attribute: string): attribute is Lookup => lookups.has(attribute);

/** Reads a filter of RFC 7644, 3.4.2.2. Throws `invalidFilter`. */
export const readFilter = (text: string): ScimFilter => {
  const refused = new ScimError(
    400,
    "invalidFilter",
    "The filter is not one of RFC 7644, longer than 1,000 characters, or multiplies out to too many branches: say less of and, or and brackets.",
  );
  if (text.trim() === "" || !isReadable(text)) throw refused;
  // The library reads past such a word.
  if (DANGLING.test(text.replace(TEXTS, "''"))) throw refused;
  const filter = asClientFault("invalidFilter", () => new Types.Filter(text));
  const branches = [...(filter as unknown as Iterable<Readonly<Record<string, unknown>>>)];
  if (branches.length === 0 || !branches.every(isWhole)) throw refused;
  // What lacks a complex attribute that the filter names the library cannot look at: it does not fit.
  const match = (resource: object): boolean => {
    try {
      return filter.match([resource]).length > 0;
    } catch {
      return false;
    }
  };
  const [only] = branches.length === 1 ? branches : [];
  const [attribute, more] = only === undefined ? [] : Object.entries(only);
  const by = attribute?.[0].toLowerCase() ?? "";
  const [operator, value, rest] = Array.isArray(attribute?.[1]) ? (attribute[1] as readonly unknown[]) : [];
  if (more !== undefined || !isLookup(by) || operator !== "eq" || typeof value !== "string" || rest !== undefined) return { match };
  return { lookup: { by, value }, match };
};

/** `attributes` and `excludedAttributes` as the library takes them. Throws `invalidValue`. */
export const readAttributes = (attributes: string | null, excluded: string | null): InstanceType<typeof Types.Filter> | undefined => {
  const [list, word] = attributes !== null ? [attributes, "pr"] : [excluded, "np"];
  if (list === null) return undefined;
  const names = list.split(",").map((name) => name.trim());
  if (names.length > 50 || !names.every((name) => /^[A-Za-z][A-Za-z0-9:._$-]{0,199}$/.test(name)) || leadsToShared(list))
    throw new ScimError(400, "invalidValue", "attributes and excludedAttributes are comma lists of at most 50 attribute names.");
  return asClientFault("invalidValue", () => new Types.Filter(names.map((name) => `${name} ${word}`).join(" and ")));
};
