import { attributesAt, roots, type Attribute } from "./scim-attributes.ts";
import { ScimError } from "./scim-error.ts";
import { leadsToShared } from "./shared-names.ts";
import type { ScimType } from "./scim-schemas.ts";
import type { Lookup } from "./scim-store.ts";

const MAX_CHARACTERS = 1_000;
const MAX_COMPARISONS = 50;
const MAX_DEPTH = 16;

type Value = string | boolean | null;
type Path = readonly Attribute[];

/** A filter of RFC 7644, 3.4.2.2, its names resolved by the schemas. */
export type Filter =
  | { readonly kind: "and"; readonly parts: readonly Filter[] }
  | { readonly kind: "or"; readonly parts: readonly Filter[] }
  | { readonly kind: "not"; readonly part: Filter }
  | { readonly kind: "within"; readonly path: Path; readonly part: Filter }
  | { readonly kind: "compare"; readonly path: Path; readonly op: string; readonly value: Value };

/** A path of PATCH (figure 7), its names resolved. */
export interface PatchPath {
  readonly steps: Path;
  readonly filter?: Filter;
  /** Behind the filter. */
  readonly sub?: Attribute;
}

const refused = (why: string): ScimError => new ScimError(400, "invalidFilter", `The filter is not one of RFC 7644: ${why}.`);

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/y;

const tokensOf = (text: string): readonly string[] => {
  if (text.length > MAX_CHARACTERS) throw refused("it is longer than 1,000 characters");
  if (/\p{Cc}/u.test(text) || leadsToShared(text)) throw refused("it holds what no name and no value is");
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end;) {
    const [, quoted, bracket, word] = TOKEN.exec(text) ?? [];
    const token = quoted ?? bracket ?? word;
    if (token === undefined) throw refused("a quotation mark is missing");
    tokens.push(token);
  }
  return tokens;
};

/** A number stays the text that it is, with all its digits. */
const literalOf = (token: string | undefined): Value => {
  if (token === undefined) throw refused("a comparison lacks its value");
  const text = token.startsWith('"') ? token : token.toLowerCase();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "number") return token;
    if (value === null || typeof value === "boolean") return value;
    // What no database stores.
    if (typeof value === "string" && value.isWellFormed() && !value.includes("\0")) return value;
  } catch {
    // Said below.
  }
  throw refused(`${token} is no value`);
};

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  string: ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"],
  reference: ["eq", "ne", "co", "sw", "ew"],
  dateTime: ["eq", "ne", "gt", "ge", "lt", "le"],
  boolean: ["eq", "ne"],
};

/** Who is in a group, and in which groups somebody is, is looked up by id alone. */
const isLinks = ([first]: Path): boolean => first?.name === "members" || first?.name === "groups";
/** What the server makes anew for each answer. */
const isMade = ([first, second]: Path): boolean => first?.name === "meta" && ["version", "location"].includes(second?.name ?? "");

const comparison = (path: Path, op: string, given: Value): Filter => {
  const last = path.at(-1);
  const value = last?.subs?.get("value");
  const whole = value === undefined ? path : [...path, value];
  const type = whole.at(-1)?.type ?? "";
  const name = whole.map((one) => one.name).join(".");
  if (!(OPERATORS[type] ?? []).includes(op)) throw refused(`${name} is not compared by ${op}`);
  if (given === null && (op === "eq" || op === "ne")) return { kind: "compare", path: whole, op, value: null };
  const text = String(given);
  if (type === "boolean") {
    if (!/^(?:true|false)$/i.test(text)) throw refused(`${name} is true or false`);
    return { kind: "compare", path: whole, op, value: text.toLowerCase() === "true" };
  }
  if (given === null || typeof given === "boolean") throw refused(`${name} is compared with text`);
  if (type === "dateTime" && Number.isNaN(Date.parse(text))) throw refused(`${name} is compared with a time`);
  return { kind: "compare", path: whole, op, value: text };
};

/** One pass over the tokens, left to right. */
const parser = (type: ScimType, tokens: readonly string[]) => {
  let [at, comparisons] = [0, 0];
  const word = (): string | undefined => tokens[at]?.toLowerCase();
  const take = (): string | undefined => tokens[at++];
  const expect = (token: string): void => {
    if (take() !== token) throw refused(`${token} is missing`);
  };
  const either = (from: Attribute, depth: number): Filter => {
    const chain = (kind: "and" | "or", next: () => Filter): Filter => {
      const parts = [next()];
      for (; word() === kind; parts.push(next())) at += 1;
      const [only] = parts;
      return parts.length === 1 && only !== undefined ? only : { kind, parts };
    };
    if (depth > MAX_DEPTH) throw refused("its brackets are too deep");
    return chain("or", () => chain("and", () => term(from, depth)));
  };
  const inBrackets = (from: Attribute, depth: number, end: string): Filter => {
    at += 1;
    const part = either(from, depth + 1);
    expect(end);
    return part;
  };
  const term = (from: Attribute, depth: number): Filter => {
    if (word() === "(") return inBrackets(from, depth, ")");
    if (word() === "not" && tokens[at + 1] === "(") {
      at += 1;
      return { kind: "not", part: inBrackets(from, depth, ")") };
    }
    const name = take() ?? "";
    const path = attributesAt(type, name, from);
    if (path === undefined) throw refused(name === "" ? "it ends too soon" : `there is no attribute ${name}`);
    if ((comparisons += 1) > MAX_COMPARISONS) throw refused(`it has more than ${MAX_COMPARISONS} comparisons`);
    if (isMade(path)) throw refused(`${name} is not searched`);
    const last = path.at(-1);
    if (word() === "[" && last?.subs !== undefined) return { kind: "within", path, part: inBrackets(last, depth, "]") };
    const op = take()?.toLowerCase() ?? "";
    if (op === "pr") return { kind: "compare", path, op, value: null };
    return comparison(path, op, literalOf(take()));
  };
  return { either, word, take, isAtEnd: () => at >= tokens.length };
};

/** The ids that a filter compares links with, each asked for by eq. Throws `invalidFilter` for any other question about links. */
const linkedIds = (filter: Filter, isWithin = false): readonly string[] => {
  if (filter.kind === "and" || filter.kind === "or") return filter.parts.flatMap((part) => linkedIds(part, isWithin));
  if (filter.kind === "not") return linkedIds(filter.part, isWithin);
  if (filter.kind === "within") return linkedIds(filter.part, isLinks(filter.path));
  if (!isWithin && !isLinks(filter.path)) return [];
  const { path, op, value } = filter;
  if (path.at(-1)?.name === "value" && op === "eq" && typeof value === "string") return [value];
  throw refused("members and groups are looked for by their value and eq");
};

const valuesAt = (value: unknown, path: Path): readonly unknown[] => {
  let found: unknown[] = [value];
  for (const { name } of path)
    found = found.flatMap((one) => {
      const next = typeof one === "object" && one !== null && Object.hasOwn(one, name) ? (one as Record<string, unknown>)[name] : undefined;
      return next === undefined || next === null ? [] : next;
    });
  return found;
};

const compares: Readonly<Record<string, (left: string | number, right: string | number) => boolean>> = {
  eq: (left, right) => left === right,
  co: (left, right) => String(left).includes(String(right)),
  sw: (left, right) => String(left).startsWith(String(right)),
  ew: (left, right) => String(left).endsWith(String(right)),
  gt: (left, right) => left > right,
  ge: (left, right) => left >= right,
  lt: (left, right) => left < right,
  le: (left, right) => left <= right,
};

/** As `membership.fold_name` does it: by letter, whatever stands beside it. Replacing many single letters costs three times the split. */
export const foldName = (text: string): string => text.toLowerCase().split("ς").join("σ");

const comparable = (value: unknown, { type, isCaseExact }: Attribute): string | number =>
  type === "dateTime" ? Date.parse(String(value)) : isCaseExact ? String(value) : foldName(String(value));

/** Characters that the comparisons of one message look at in all, and between two turns of others. */
const MAX_WORK = 10_000_000;
const MAX_WORK_AT_ONCE = 600_000;
/** What a comparison costs beside them. */
const OWN_WORK = 8;

/** What the filters of one message may cost. `begin` where others had their turn; `spend` throws `tooMany`. */
export const createWork = () => {
  let [all, atOnce] = [0, 0];
  return {
    begin: (): void => void (atOnce = 0),
    spend: (characters: number): void => {
      all += characters + OWN_WORK;
      atOnce += characters + OWN_WORK;
      if (all > MAX_WORK || atOnce > MAX_WORK_AT_ONCE)
        throw new ScimError(400, "tooMany", "The filter would compare too much text: ask for less, or for one attribute by eq.");
    },
  };
};
export type Work = ReturnType<typeof createWork>;

/**
 * Whether a filter lets a resource, or one value of a complex attribute, through. Cost: one pass over what the filter names for each
 * comparison. Throws `tooMany`.
 */
export const matches = (filter: Filter, value: unknown, work: Work): boolean => {
  if (filter.kind === "and") return filter.parts.every((part) => matches(part, value, work));
  if (filter.kind === "or") return filter.parts.some((part) => matches(part, value, work));
  if (filter.kind === "not") return !matches(filter.part, value, work);
  const { path } = filter;
  if (filter.kind === "within") return valuesAt(value, path).some((one) => matches(filter.part, one, work));
  const values = valuesAt(value, path);
  for (const one of values.length === 0 ? [""] : values) work.spend(typeof one === "string" ? one.length : 0);
  const last = path.at(-1);
  if (filter.op === "pr" || last === undefined) return values.some((one) => one !== "");
  if (filter.value === null) return values.length > 0 === (filter.op === "ne");
  const wanted = comparable(filter.value, last);
  const compare = compares[filter.op === "ne" ? "eq" : filter.op];
  const isFound = values.some((one) => compare?.(comparable(one, last), wanted) === true);
  return isFound === (filter.op !== "ne");
};

export interface ScimFilter {
  readonly filter: Filter;
  /** A comparison that the database makes; every resource that fits the filter fits it. */
  readonly lookup?: { readonly by: Lookup; readonly value: string };
  /** The filter is this comparison and no more. */
  readonly isLookup: boolean;
  /** Of members or groups that the filter names. */
  readonly linkedIds: readonly string[];
}

const lookups: ReadonlyMap<string, Lookup> = new Map(
  (["username", "displayname", "externalid", "id", "members", "groups"] as const).map((name) => [name, name]),
);

/** The comparison of a term that is one, also where it stands in the brackets of its attribute. */
const lookupOf = (filter: Filter): ScimFilter["lookup"] => {
  if (filter.kind === "within" && filter.part.kind === "compare")
    return lookupOf({ ...filter.part, path: [...filter.path, ...filter.part.path] });
  if (filter.kind !== "compare" || filter.op !== "eq" || typeof filter.value !== "string") return undefined;
  const by = lookups.get(filter.path[0]?.name.toLowerCase() ?? "");
  return by === undefined ? undefined : { by, value: filter.value };
};

/** Reads a filter of a search. Throws `invalidFilter`. Cost: one pass over the text. */
export const readFilter = (type: ScimType, text: string): ScimFilter => {
  const { either, isAtEnd, word } = parser(type, tokensOf(text));
  const filter = either(roots[type], 0);
  if (!isAtEnd()) throw refused(`${word()} is one word too many`);
  const found = (filter.kind === "and" ? filter.parts : [filter]).map(lookupOf).filter((one) => one !== undefined);
  const lookup = found.find(({ by }) => by !== "members" && by !== "groups") ?? found[0];
  // The database looks at the beginning of a user's name that is shown: there may be more of it.
  const isLookup = lookup !== undefined && filter.kind !== "and" && (type === "Group" || lookup.by !== "displayname");
  return { filter, lookup, isLookup, linkedIds: linkedIds(filter) };
};

/** Reads a path of PATCH; `undefined`: it names no attribute that is stored. Throws `invalidPath`. */
export const readPath = (type: ScimType, text: string): PatchPath | undefined => {
  try {
    const tokens = tokensOf(text);
    const [name = "", bracket] = tokens;
    if (!/^[a-z][\w:.$-]*$/i.test(name) || (tokens.length > 1 && bracket !== "[")) throw refused("it is no path");
    const steps = attributesAt(type, name);
    const last = steps?.at(-1);
    if (steps === undefined || last === undefined) return undefined;
    if (tokens.length === 1) return { steps };
    if (last.subs === undefined) throw refused(`${last.name} has no values to choose from`);
    const { either, take, isAtEnd } = parser(type, tokens.slice(2));
    const filter = either(last, 0);
    const [end, behind] = [take(), take()];
    if (end !== "]" || !isAtEnd() || (behind !== undefined && !behind.startsWith("."))) throw refused("] is missing");
    const sub = behind === undefined ? undefined : last.subs.get(behind.slice(1).toLowerCase());
    if (behind !== undefined && sub === undefined) return undefined;
    return { steps, filter, ...(sub === undefined ? {} : { sub }) };
  } catch (error) {
    if (!(error instanceof ScimError)) throw error;
    throw new ScimError(400, "invalidPath", error.message.replace("The filter is not one", `The path ${text.slice(0, 100)} is not one`));
  }
};

/** `attributes` and `excludedAttributes` as paths; names that nothing has are passed over. Throws `invalidValue`. */
export const readAttributes = (type: ScimType, list: string): readonly Path[] => {
  const names = list.split(",").map((name) => name.trim());
  if (names.length > 50 || !names.every((name) => /^[A-Za-z][A-Za-z0-9:._$-]{0,199}$/.test(name)) || leadsToShared(list))
    throw new ScimError(400, "invalidValue", "attributes and excludedAttributes are comma lists of at most 50 attribute names.");
  return names.map((name) => attributesAt(type, name)).filter((path) => path !== undefined);
};
