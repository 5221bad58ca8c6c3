import { isObject } from "#contract/is-object.ts";
import { createYielding } from "#http/yielding.ts";
import { attributesAt, type Attribute } from "./scim-attributes.ts";
import {
  distinct,
  entriesOf,
  ignore,
  isWholePath,
  memberOf,
  readValue,
  requireFew,
  requireFit,
  unfit,
  requireSmall,
  VALUE,
  withOnePrimary,
  type Ignored,
} from "./scim-document.ts";
import { ScimError } from "./scim-error.ts";
import { createWork, matches, readPath, type Filter, type PatchPath, type Work } from "./scim-filter.ts";
import { isMemberId, isText, memberIds, noMember } from "./scim-nodes.ts";
import type { ScimDocument, ScimType } from "./scim-schemas.ts";

/** What a message does to who is in a group: whoever is there goes first, or stays. */
export interface MemberChange {
  readonly isWhole: boolean;
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
  /** Nobody comes: the message is refused, and who goes by it goes nevertheless. */
  readonly isRemoval?: boolean;
}

export interface Patched {
  readonly document: ScimDocument;
  /** Absent: nothing is said about members. */
  readonly members?: MemberChange;
  /** Why the message is refused, of members that are none. */
  readonly issue?: ScimError | undefined;
}

type Op = "add" | "replace" | "remove";
type Values = Record<string, unknown>;

const MAX_OPERATIONS = 1_000;
/** Of those that are not about members. */
const MAX_OWN_OPERATIONS = 100;
const pause = createYielding(5);

const noTarget = (): ScimError => new ScimError(400, "noTarget", "Nothing fits the filter of the path, and no value can be made of it.");

/** The value that a filter describes: each of its comparisons is an eq. `undefined`: it describes none. */
const described = (filter: Filter): Values | undefined => {
  if (filter.kind === "and") {
    const parts = filter.parts.map(described);
    return parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined;
  }
  const [only, deeper] = filter.kind === "compare" ? filter.path : [];
  return filter.kind === "compare" && only !== undefined && deeper === undefined && filter.op === "eq" && filter.value !== null
    ? { [only.name]: filter.value }
    : undefined;
};

const sameKey = (value: unknown): string => (isObject(value) ? JSON.stringify([value["value"], value["type"]]) : JSON.stringify(value));

/** Values beside those that are there; one of the same value and type takes what the new one says. Cost: linear. */
const merged = (held: readonly unknown[], added: readonly unknown[]): readonly unknown[] => {
  const byKey = new Map<string, unknown>(
    held.map((one, at) => [isObject(one) && one["value"] === undefined ? `${at}` : sameKey(one), one]),
  );
  for (const one of added) {
    const key = isObject(one) && one["value"] === undefined ? JSON.stringify(one) : sameKey(one);
    const there = byKey.get(key);
    byKey.set(key, isObject(there) && isObject(one) ? { ...there, ...one } : one);
  }
  return [...byKey.values()];
};

/** Those without the ones that each member of one of `values` equals. */
const withoutThese = (held: readonly unknown[], values: readonly unknown[]): readonly unknown[] => {
  const named = values.filter(isObject);
  const byValue = new Set(named.filter((one) => one["value"] !== undefined).map(({ value }) => value));
  const others = named.filter((one) => one["value"] === undefined);
  return held.filter(
    (one) =>
      !isObject(one) ||
      !(byValue.has(one["value"]) || others.some((other) => Object.entries(other).every(([name, part]) => one[name] === part))),
  );
};

/** Sets what is left of an attribute; nothing is its removal. */
const put = (holder: Values, name: string, value: unknown): void => {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) delete holder[name];
  else holder[name] = value;
};

type ValuePath = Pick<PatchPath, "filter" | "sub"> & { readonly work: Work };

/** One operation on one multi-valued attribute. `value` was read by the attribute, or by `sub` where that is named. */
const changeValues = (op: Op, held: readonly unknown[], path: ValuePath, value: unknown): readonly unknown[] => {
  const { filter, sub, work } = path;
  const given = Array.isArray(value) ? value : value === undefined ? [] : [value];
  if (filter === undefined && sub === undefined) {
    if (op === "remove") return given.length === 0 ? [] : withoutThese(held, given);
    return op === "replace" ? given : merged(held, given);
  }
  const fits = (one: unknown): boolean => filter === undefined || matches(filter, one, work);
  const changed = (one: unknown): unknown => {
    const values: Values = isObject(one) ? { ...one } : {};
    if (sub !== undefined) put(values, sub.name, op === "remove" ? undefined : value);
    else Object.assign(values, given[0]);
    return values;
  };
  if (op === "remove" && sub === undefined) return held.filter((one) => !fits(one));
  if (held.some(fits)) return held.map((one) => (fits(one) ? changed(one) : one)).filter((one) => Object.keys(one as object).length > 0);
  if (op === "remove" || value === undefined) return held;
  const fresh = filter === undefined ? {} : described(filter);
  if (fresh === undefined) throw noTarget();
  return [...held, changed(fresh)];
};

const withoutEmpty = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]): readonly [string, unknown][] => {
      const kept = isObject(value) ? withoutEmpty(value) : value;
      return isObject(kept) && Object.keys(kept).length === 0 ? [] : [[name, kept]];
    }),
  );

interface Reading {
  readonly ignored: Ignored;
  readonly work: Work;
}

/** Applies one operation with a path to the document, which is this one's own. */
const applyAt = (op: Op, document: Values, path: PatchPath, given: unknown, { ignored, work }: Reading): void => {
  const { steps, filter, sub } = path;
  const [first, ...deeper] = steps as readonly [Attribute, ...Attribute[]];
  if (first.name === "schemas") return;
  const target = sub ?? deeper.at(-1) ?? first;
  const at = [...steps, ...(sub === undefined ? [] : [sub])].map(({ name }) => name).join(".");
  // Null takes nothing away here; a value that is not there is meant to be one.
  if (first.name === "active" && op !== "remove" && given === undefined) throw unfit(first);
  if (first.isReadOnly || target.isReadOnly) return void ignored.add(at);
  const value = readValue(target, given, at, ignored);
  requireFit(target, given, value);
  const isCleared = op !== "remove" && (given === null || given === undefined);
  const isUnfit = value === undefined && given !== null && given !== undefined && !(Array.isArray(given) && given.length === 0);
  if (isUnfit) return;
  if (first.name === "active" && value === undefined) return;
  const doing: Op = isCleared ? "remove" : op;
  let holder = document;
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1];
    const held = holder[step.name];
    if (step.isMulti) {
      const before: readonly unknown[] = Array.isArray(held) ? held : [];
      const inner = filter === undefined ? next : sub;
      const after = changeValues(
        doing,
        before,
        { work, ...(filter === undefined ? {} : { filter }), ...(inner === undefined ? {} : { sub: inner }) },
        value,
      );
      requireFew(after, at);
      return put(holder, step.name, withOnePrimary(after, before, false));
    }
    if (next !== undefined || filter !== undefined) {
      if (filter !== undefined && (!isObject(held) || !matches(filter, held, work))) throw noTarget();
      const inside: Values = isObject(held) ? { ...held } : {};
      holder[step.name] = inside;
      holder = inside;
      if (next === undefined) return put(holder, target.name, doing === "remove" ? undefined : value);
    } else if (doing === "remove") delete holder[step.name];
    else holder[step.name] = isObject(held) && isObject(value) ? { ...held, ...value } : value;
  }
};

/** Who is in a group after operations, as a change that needs nobody who is there. */
const createMemberChange = (ignored: Ignored) => {
  let [isSaid, isWhole] = [false, false];
  let issue: ScimError | undefined;
  const [added, removed] = [new Set<string>(), new Set<string>()];
  const apply = (op: Op, { filter }: PatchPath, value: unknown): void => {
    isSaid = true;
    const filtered = filter === undefined ? undefined : idsOf(filter);
    if (filter !== undefined && (filtered === undefined || op !== "remove"))
      throw new ScimError(400, "invalidPath", 'Members are named whole, or by members[value eq "..."] of an op remove.');
    let isReadable = true;
    const named =
      filtered ??
      memberIds(value, (name) => {
        const isNobody = op === "remove" && isText(name, Infinity);
        if (isNobody) ignore(ignored, `members ${name}`);
        else [issue, isReadable] = [noMember(), false];
      });
    // Who is to stay is not known: nobody goes.
    if (op === "replace" && !isReadable) return;
    const isNothing = value === undefined || value === null;
    if (filtered === undefined && (op === "replace" || (op === "remove" && isNothing))) {
      isWhole = true;
      added.clear();
      removed.clear();
    }
    for (const id of named) {
      (op === "remove" ? added : removed).delete(id);
      (op === "remove" ? removed : added).add(id);
    }
  };
  return { apply, change: (): Omit<Patched, "document"> => (isSaid ? { members: { isWhole, added, removed }, issue } : {}) };
};

/** The members that a filter chooses by their ids. */
const idsOf = (filter: Filter): readonly string[] | undefined => {
  if (filter.kind === "or") {
    const parts = filter.parts.map(idsOf);
    return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
  }
  const { value } = described(filter) ?? {};
  return filter.kind === "compare" && isMemberId(value) ? [value] : filter.kind === "compare" && value !== undefined ? [] : undefined;
};

const operationsOf = (sent: unknown): readonly Values[] => {
  const list = isObject(sent) ? memberOf(sent, "operations") : undefined;
  if (!Array.isArray(list) || list.length === 0 || !list.every(isObject))
    throw new ScimError(400, "invalidSyntax", "Send a PatchOp with Operations, each an object.");
  if (list.length > MAX_OPERATIONS) throw new ScimError(413, undefined, `Operations are at most ${MAX_OPERATIONS}.`);
  const operations = list.map((one) => ({ op: memberOf(one, "op"), path: memberOf(one, "path"), value: memberOf(one, ...VALUE) }));
  const isOfMembers = ({ path, value }: Values): boolean =>
    (typeof path === "string" && /^[^[]*members/i.test(path)) ||
    (isObject(value) && Object.keys(value).every((name) => /members$/i.test(name)));
  if (operations.filter((one) => !isOfMembers(one)).length > MAX_OWN_OPERATIONS)
    throw new ScimError(413, undefined, `Operations on other things than members are at most ${MAX_OWN_OPERATIONS}.`);
  return operations;
};

/** What an object names, below the name of its schema too. */
const namedIn = (value: object): readonly (readonly [string, unknown])[] =>
  distinct(
    entriesOf(value).flatMap(([name, one]) =>
      name !== "" && isWholePath(name) && isObject(one) ? entriesOf(one) : [[name, one] as const],
    ),
  );

/**
 * The document after a PatchOp of RFC 7644, 3.5.2, applied to all of it or not at all, but for members that are none. Attributes that are not stored are ignored, and
 * named in `ignored`. Throws the issues of the client. Cost: linear, with turns for others; asks nobody.
 */
export const patched = async (type: ScimType, held: ScimDocument, sent: unknown, ignored: Ignored): Promise<Patched> => {
  const operations = operationsOf(sent);
  const document: Values = { ...held };
  const members = createMemberChange(ignored);
  const work = createWork();
  const apply = (op: Op, path: string, value: unknown): void => {
    work.begin();
    const found = readPath(type, path);
    const isOfMembers = found?.steps[0]?.name === "members";
    // Of a member only who it is is stored.
    if (found === undefined || (isOfMembers && (found.steps.length > 1 || found.sub !== undefined))) ignore(ignored, path);
    else if (isOfMembers) members.apply(op, found, value);
    else applyAt(op, document, found, value, { ignored, work });
  };
  for (const { op, path, value } of operations) {
    const name = typeof op === "string" ? op.trim().toLowerCase() : "";
    if (name !== "add" && name !== "replace" && name !== "remove")
      throw new ScimError(400, "invalidSyntax", "op is one of add, replace and remove.");
    if (typeof path === "string" && !isWholePath(path)) apply(name, path, value);
    else if (!isWholePath(path)) throw new ScimError(400, "invalidPath", "path is text.");
    else if (name === "remove") throw new ScimError(400, "noTarget", "remove needs a path.");
    else if (!isObject(value)) throw new ScimError(400, "invalidValue", "Without a path the value is an object.");
    else
      for (const [key, one] of namedIn(value)) {
        // A whole resource may be sent: what the server itself says of it is no change.
        if (attributesAt(type, key)?.[0]?.isReadOnly !== true) apply(name, key, one);
        await pause();
      }
    await pause();
  }
  for (const [name, value] of Object.entries(document)) if (Array.isArray(value)) document[name] = withOnePrimary(value);
  return { document: requireSmall(withoutEmpty(document)), ...members.change() };
};
