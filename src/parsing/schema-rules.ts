import {
  compareNumbers,
  digitsOf,
  isHeld,
  isMultipleOf,
  isRawNumber,
  isWhole,
  valueText,
  type RawNumber,
} from "#contract/exact-numbers.ts";
import { isObject } from "#contract/is-object.ts";
import { compilePattern } from "./pattern.ts";

/** A place in a value below another; the value itself is none. */
export interface Place {
  readonly up: Place | undefined;
  readonly key: PropertyKey;
}
/** What does not fit at a place; its text is made once it is shown. */
export interface Issue {
  readonly place: Place | undefined;
  readonly message: string;
  /** It is a text where an integer may be. */
  readonly isInteger: boolean;
}
/** One validation of one value. */
export interface Run {
  /** Steps of some 50 ns that it may still take. */
  left: number;
  place: Place | undefined;
  issues: Issue[];
  readonly maxIssues: number;
}
/** Members and items that a schema at this place has spoken of, for `unevaluatedProperties` and `unevaluatedItems`. */
export interface Seen {
  readonly names: Set<string>;
  readonly items: Set<number>;
}
/** Whether a value fits; what does not is in the run's issues. */
export type Check = (value: unknown, run: Run, seen: Seen | undefined) => boolean;
type Members = Readonly<Record<string, unknown>>;
/** Makes the check of a part of the schema. */
type Inner = (part: unknown) => Check;
type Maker = (given: unknown, inner: Inner, schema: Members) => Check | undefined;

export class TooMuchWork extends Error {}
export const MAX_ISSUES = 50;
const MAX_SHOWN = 200;
const ISSUE_STEPS = 20;
/** To find a member of a large object. */
const NAME_STEPS = 4;
/** To note a member or an item as evaluated, in the branch and around it. */
const SEEN_STEPS = 10;
/** Numbers of any exponent are divided digit by digit. */
const MULTIPLE_STEPS = 40;

export const spend = (run: Run, steps: number): void => {
  run.left -= steps;
  if (run.left < 0) throw new TooMuchWork();
};

const fail = (run: Run, message: string, isInteger = false): false => {
  spend(run, ISSUE_STEPS);
  if (run.issues.length < run.maxIssues) run.issues.push({ place: run.place, message, isInteger });
  return false;
};
const missing: Check = (_value, run) => fail(run, "is required");

const within = (check: Check, value: unknown, run: Run, key: PropertyKey): boolean => {
  const up = run.place;
  run.place = { up, key };
  const fits = check(value, run, undefined);
  run.place = up;
  return fits;
};

export const newSeen = (): Seen => ({ names: new Set(), items: new Set() });

/** A check whose issues and evaluations count only if they are wanted: `issues` are those of a value that does not fit. */
const apart = (check: Check, value: unknown, run: Run, seen: Seen | undefined) => {
  spend(run, 2);
  const own = seen === undefined ? undefined : newSeen();
  const { issues } = run;
  run.issues = [];
  const fits = check(value, run, own);
  const found = run.issues;
  run.issues = issues;
  if (fits && seen !== undefined && own !== undefined) {
    spend(run, SEEN_STEPS * (own.names.size + own.items.size));
    for (const name of own.names) seen.names.add(name);
    for (const item of own.items) seen.items.add(item);
  }
  return { fits, found };
};

/** A schema of the same value that must fit, too. */
export const along = (check: Check, value: unknown, run: Run, seen: Seen | undefined): boolean => {
  const { fits, found } = apart(check, value, run, seen);
  take(run, found);
  return fits;
};

const take = (run: Run, found: readonly Issue[]): void => {
  run.issues.push(...found.slice(0, Math.max(0, run.maxIssues - run.issues.length)));
};

const isNumber = (value: unknown): value is number | RawNumber => typeof value === "number" || isRawNumber(value);
/** What it costs to compare and divide by so many digits. */
const spendOnDigits = (run: Run, ...numbers: readonly (number | RawNumber)[]): void => {
  const count = numbers.reduce<number>((sum, one) => sum + (typeof one === "number" ? 0 : one.rawJSON.length), 0);
  spend(run, count / 16 + (count * count) / 20_000);
};
/** A number that is stored as its text, where a double holds it: the double. Counts what it costs to look up. */
const asHeld = (value: unknown, run: Run): unknown => {
  if (typeof value === "string") spend(run, value.length / 256);
  if (!isRawNumber(value)) return value;
  spendOnDigits(run, value);
  return isHeld(value.rawJSON) ? Number(value.rawJSON) : value;
};

/** The same text for equal values, whatever the order of their members. */
const canonicalText = (value: unknown, run: Run): string => {
  spend(run, 2);
  if (typeof value === "string") spend(run, value.length / 16);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, run)).join()}]`;
  if (isRawNumber(value)) {
    const held = asHeld(value, run);
    return typeof held === "number" ? JSON.stringify(held) : valueText(value);
  }
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  for (const name of names) spend(run, 1 + name.length / 16);
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(value[name], run)}`).join()}}`;
};
/** Values that were met before: equal ones by their text, plain ones by themselves. */
const newValues = () => {
  const plain = new Set<unknown>();
  const composed = new Set<string>();
  const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null;
  return {
    has: (given: unknown, run: Run): boolean => {
      const value = asHeld(given, run);
      return isPlain(value) ? plain.has(value) : composed.size > 0 && composed.has(canonicalText(value, run));
    },
    /** False where it was there. */
    add: (given: unknown, run: Run): boolean => {
      const value = asHeld(given, run);
      const size = plain.size + composed.size;
      if (isPlain(value)) plain.add(value);
      else composed.add(canonicalText(value, run));
      return plain.size + composed.size > size;
    },
  };
};

const article = (type: string): string => (/^[aio]/.test(type) ? `an ${type}` : `a ${type}`);
const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
/** What a schema wants, as its own text: whoever may call the tool has read it. Long ones are only spoken of. */
const wanted = (text: string, lead: string, otherwise: string): string => (text.length > MAX_SHOWN ? otherwise : `${lead} ${text}`);

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : isRawNumber(value) ? "number" : typeof value;
/** How many a keyword wants: of more than a double holds none has as many either way. */
const countOf = (given: unknown): number | undefined => {
  const count = isNumber(given) ? Number(digitsOf(given)) : -1;
  return count >= 0 ? count : undefined;
};

const oneOfValues = (values: readonly unknown[], message: string): Check => {
  const known = newValues();
  for (const value of values) known.add(value, { left: Infinity, place: undefined, issues: [], maxIssues: MAX_ISSUES });
  return (value, run) => known.has(value, run) || fail(run, message);
};

/** A rule for numbers, by their order to the one that is given. */
const numeric =
  (fits: (order: number) => boolean, words: string): Maker =>
  (given) => {
    if (!isNumber(given)) return undefined;
    const message = wanted(digitsOf(given), words, "is beyond what the schema allows");
    return (value, run) => {
      if (!isNumber(value)) return true;
      spendOnDigits(run, value, given);
      return fits(compareNumbers(value, given)) || fail(run, message);
    };
  };
/** A rule of how many there are; what is no count means nothing. */
const counting =
  (checkOf: (given: number) => Check): Maker =>
  (given) => {
    const count = countOf(given);
    return count === undefined ? undefined : checkOf(count);
  };
/** Texts by their characters: whole code points, as JSON Schema counts. */
const textual = (fits: (count: number, given: number) => boolean, words: string): Maker =>
  counting((given) => (value, run) => {
    if (typeof value !== "string") return true;
    spend(run, value.length / 8);
    let count = 0;
    for (const _character of value) count += 1;
    return fits(count, given) || fail(run, `${words} ${counted(given, "character")}`);
  });
const listed = (fits: (count: number, given: number) => boolean, words: string): Maker =>
  counting(
    (given) => (value, run) => !Array.isArray(value) || fits(value.length, given) || fail(run, `${words} ${counted(given, "item")}`),
  );
const sized = (fits: (count: number, given: number) => boolean, word: string): Maker =>
  counting((given) => (value, run) => !isObject(value) || fits(namesOf(value, run).length, given) || fail(run, `does not fit (${word})`));

const namesOf = (value: Members, run: Run): readonly string[] => {
  const names = Object.keys(value);
  spend(run, NAME_STEPS * names.length);
  return names;
};

const inEach = (parts: unknown, inner: Inner): readonly (readonly [string, Check])[] =>
  isObject(parts) ? Object.entries(parts).map(([name, part]) => [name, inner(part)] as const) : [];

/** Whose members a pattern names. */
const inPatterns = (schema: Members, inner: Inner) =>
  inEach(schema["patternProperties"], inner).map(([source, check]) => ({ pattern: compilePattern(source), check }));

/** What speaks of a member by its name, or of all that are left. */
const ofMembers =
  (choose: (name: string, seen: Seen | undefined) => boolean, check: Check): Check =>
  (value, run, seen) => {
    if (!isObject(value)) return true;
    let fits = true;
    for (const name of namesOf(value, run)) {
      if (!choose(name, seen)) continue;
      if (within(check, value[name], run, name)) seen?.names.add(name);
      else fits = false;
    }
    return fits;
  };

const ofItems =
  (choose: (at: number, seen: Seen | undefined) => boolean, checkOf: (at: number) => Check): Check =>
  (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    spend(run, value.length);
    let fits = true;
    for (let at = 0; at < value.length; at++) {
      if (!choose(at, seen)) continue;
      if (!within(checkOf(at), value[at], run, at)) fits = false;
      seen?.items.add(at);
    }
    return fits;
  };

/** The checks of a list in 2020-12 and before: those of the first items, and that of the rest. */
const itemsOf = (schema: Members): { readonly first: readonly unknown[]; readonly rest: unknown } => {
  const { items } = schema;
  if (Array.isArray(items)) return { first: items, rest: schema["additionalItems"] };
  return { first: Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [], rest: items };
};

const dependent =
  (word: string, wants: (name: string, part: unknown, inner: Inner) => Check): Maker =>
  (given, inner) => {
    if (!isObject(given)) return undefined;
    const rules = Object.entries(given).map(([name, part]) => ({ name, check: wants(name, part, inner) }));
    return (value, run, seen) => {
      if (!isObject(value)) return true;
      spend(run, rules.length);
      let fits = true;
      for (const { name, check } of rules)
        if (Object.hasOwn(value, name) && !along(check, value, run, seen)) fits = fail(run, `does not fit (${word})`);
      return fits;
    };
  };
const textsOf = (given: unknown): readonly string[] => (Array.isArray(given) ? given : []).filter((name) => typeof name === "string");
const needs = (given: unknown): Check => {
  const names = textsOf(given);
  return (value, run) => {
    spend(run, names.length);
    return names.every((name) => isObject(value) && Object.hasOwn(value, name));
  };
};

/** Each keyword that is known, in the order in which issues are listed. What has not the keyword's shape means nothing. */
export const makers: Readonly<Record<string, Maker>> = {
  type: (given) => {
    const types = new Set(textsOf(Array.isArray(given) ? given : [given]));
    if (types.size === 0) return undefined;
    const names = [...types].join(" or ");
    const message = names.length > MAX_SHOWN ? "must be of a type that the schema names" : `must be ${article(names)}`;
    return (value, run) => {
      if (isRawNumber(value)) spendOnDigits(run, value);
      const isInteger = types.has("integer");
      return (
        types.has(typeOf(value)) ||
        (isInteger && isNumber(value) && isWhole(value)) ||
        fail(run, message, isInteger && typeof value === "string")
      );
    };
  },
  const: (given) => oneOfValues([given], wanted(JSON.stringify(given), "must be", "must be the value the schema names")),
  enum: (given) =>
    Array.isArray(given)
      ? oneOfValues(given, wanted(JSON.stringify(given).slice(1, -1), "must be one of", "must be one of the values the schema names"))
      : undefined,
  not: (given, inner) => {
    const check = inner(given);
    return (value, run) => !apart(check, value, run, undefined).fits || fail(run, "does not fit (not)");
  },
  anyOf: (given, inner) => {
    if (!Array.isArray(given)) return undefined;
    const checks = given.map(inner);
    return (value, run, seen) => {
      const tried = checks.map((check) => apart(check, value, run, seen));
      if (tried.some(({ fits }) => fits)) return true;
      fail(run, "does not fit (anyOf)");
      for (const { found } of tried) take(run, found);
      return false;
    };
  },
  allOf: (given, inner) => {
    if (!Array.isArray(given)) return undefined;
    const checks = given.map(inner);
    return (value, run, seen) => checks.map((check) => along(check, value, run, seen)).every(Boolean);
  },
  oneOf: (given, inner) => {
    if (!Array.isArray(given)) return undefined;
    const checks = given.map(inner);
    return (value, run, seen) => {
      const tried = checks.map((check) => apart(check, value, run, seen));
      if (tried.filter(({ fits }) => fits).length === 1) return true;
      fail(run, "does not fit (oneOf)");
      for (const { found } of tried) take(run, found);
      return false;
    };
  },
  if: (given, inner, schema) => {
    const [condition, met, unmet] = [given, schema["then"] ?? true, schema["else"] ?? true].map(inner);
    return (value, run, seen) => {
      const chosen = condition === undefined || apart(condition, value, run, seen).fits ? met : unmet;
      return chosen === undefined || along(chosen, value, run, seen) || fail(run, "does not fit (if)");
    };
  },
  required: (given) => {
    const names = textsOf(given);
    return (value, run) => {
      if (!isObject(value)) return true;
      spend(run, names.length);
      const absent = names.filter((name) => !Object.hasOwn(value, name));
      for (const name of absent) within(missing, undefined, run, name);
      return absent.length === 0;
    };
  },
  minProperties: sized((count, given) => count >= given, "minProperties"),
  maxProperties: sized((count, given) => count <= given, "maxProperties"),
  propertyNames: (given, inner) => {
    const check = inner(given);
    return (value, run) => {
      if (!isObject(value)) return true;
      const unfit = namesOf(value, run).filter((name) => !within(check, name, run, name));
      return unfit.length === 0 || fail(run, "does not fit (propertyNames)");
    };
  },
  dependentRequired: dependent("dependentRequired", (_name, part) => needs(part)),
  dependentSchemas: dependent("dependentSchemas", (_name, part, inner) => inner(part)),
  dependencies: dependent("dependencies", (_name, part, inner) => (Array.isArray(part) ? needs(part) : inner(part))),
  properties: (given, inner) => {
    const checks = inEach(given, inner);
    return (value, run, seen) => {
      if (!isObject(value)) return true;
      spend(run, checks.length);
      let fits = true;
      for (const [name, check] of checks) {
        if (!Object.hasOwn(value, name)) continue;
        if (within(check, value[name], run, name)) seen?.names.add(name);
        else fits = false;
      }
      return fits;
    };
  },
  patternProperties: (_given, inner, schema) => {
    const rules = inPatterns(schema, inner);
    return (value, run, seen) => {
      spend(run, 2 * rules.length);
      return rules
        .map(({ pattern, check }) =>
          ofMembers((name) => {
            spend(run, pattern.steps(name));
            return pattern.test(name);
          }, check)(value, run, seen),
        )
        .every(Boolean);
    };
  },
  additionalProperties: (given, inner, schema) => {
    const named = new Set(isObject(schema["properties"]) ? Object.keys(schema["properties"]) : []);
    const patterns = isObject(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]).map(compilePattern) : [];
    const check = inner(given);
    return (value, run, seen) => {
      const isPatterned = (name: string): boolean =>
        patterns.some((pattern) => {
          spend(run, pattern.steps(name));
          return pattern.test(name);
        });
      return ofMembers((name) => !named.has(name) && !isPatterned(name), check)(value, run, seen);
    };
  },
  unevaluatedProperties: (given, inner) => ofMembers((name, seen) => seen?.names.has(name) !== true, inner(given)),
  maxItems: listed((count, given) => count <= given, "must have at most"),
  minItems: listed((count, given) => count >= given, "must have at least"),
  items: (_given, inner, schema) => {
    const { first, rest } = itemsOf(schema);
    const firsts = first.map(inner);
    const last = rest === undefined ? undefined : inner(rest);
    const checkOf = (at: number): Check => firsts[at] ?? last ?? (() => true);
    return ofItems((at) => at < firsts.length || last !== undefined, checkOf);
  },
  contains: (given, inner, schema) => {
    const check = inner(given);
    const least = countOf(schema["minContains"]) ?? 1;
    const max = countOf(schema["maxContains"]) ?? Infinity;
    return (value, run, seen) => {
      if (!Array.isArray(value)) return true;
      spend(run, value.length);
      const fitting = value.flatMap((item, at) => (apart(check, item, run, undefined).fits ? [at] : []));
      for (const at of fitting) seen?.items.add(at);
      return (fitting.length >= least && fitting.length <= max) || fail(run, "does not fit (contains)");
    };
  },
  unevaluatedItems: (given, inner) => {
    const check = inner(given);
    return ofItems(
      (at, seen) => seen?.items.has(at) !== true,
      () => check,
    );
  },
  uniqueItems: (given) =>
    given !== true
      ? undefined
      : (value, run) => {
          if (!Array.isArray(value)) return true;
          const known = newValues();
          spend(run, value.length);
          return value.every((item) => known.add(item, run)) || fail(run, "repeats an item");
        },
  minimum: numeric((order) => order >= 0, "must be at least"),
  maximum: numeric((order) => order <= 0, "must be at most"),
  exclusiveMinimum: numeric((order) => order > 0, "must be more than"),
  exclusiveMaximum: numeric((order) => order < 0, "must be less than"),
  multipleOf: (given) => {
    if (!isNumber(given) || given === Infinity || compareNumbers(given, 0) <= 0) return undefined;
    const digits = digitsOf(given);
    const message = wanted(digits, "must be a multiple of", "is no multiple of what the schema names");
    return (value, run) => {
      if (!isNumber(value)) return true;
      spend(run, MULTIPLE_STEPS + (digitsOf(value).length + 4 * digits.length) ** 2 / 20_000);
      return isMultipleOf(value, given) || fail(run, message);
    };
  },
  minLength: textual((count, given) => count >= given, "must have at least"),
  maxLength: textual((count, given) => count <= given, "must have at most"),
  pattern: (given) => {
    const pattern = compilePattern(String(given));
    const message = wanted(String(given), "must match", "does not match the pattern");
    return (value, run) => {
      if (typeof value !== "string") return true;
      spend(run, pattern.steps(value));
      return pattern.test(value) || fail(run, message);
    };
  },
};

/** The schema `false`. */
export const nothing: Check = (_value, run) => fail(run, "is not known here");
