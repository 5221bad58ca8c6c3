import { isObject } from "#contract/is-object.ts";
import { attributesAt, roots, type Attribute } from "./scim-attributes.ts";
import { ScimError } from "./scim-error.ts";
import type { ScimDocument, ScimType } from "./scim-schemas.ts";

/** What a message says that is not stored: names of attributes, for whoever looks after the directory. */
export type Ignored = Set<string>;

const MAX_BYTES = 65_536;
const MAX_VALUES = 100;
const MAX_IGNORED = 20;
/** Of one object; the schemas have fewer than fifty. */
const MAX_NAMES = 1_000;

const twice = (name: string): ScimError =>
  new ScimError(400, "invalidSyntax", `${name.slice(0, 100)} is named twice in one object, in other letters.`);
/** The URN of a core schema says no more than the name behind it. */
const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group)[:.]/;
type Entries = readonly (readonly [string, unknown])[];

/** Throws `invalidSyntax` where two names mean the same: which of them counts would be a guess. */
export const distinct = (entries: Entries): Entries => {
  const seen = new Set<string>();
  for (const [name] of entries) if (seen.size === seen.add(name.trim().toLowerCase().replace(CORE, "")).size) throw twice(name);
  return entries;
};

/** Of what is sent. Throws `invalidValue`, `invalidSyntax`. */
export const entriesOf = (object: object): Entries => {
  if (Object.keys(object).length > MAX_NAMES) throw new ScimError(400, "invalidValue", `An object has at most ${MAX_NAMES} members.`);
  return distinct(Object.entries(object));
};

export const ignore = (ignored: Ignored, at: string): undefined => {
  if (ignored.size < MAX_IGNORED) ignored.add(at.slice(0, 100));
  return undefined;
};

/** "True" and "False" are what Entra ID sends, some in a list or an object of one `value`; 0 is false. `undefined`: it is no Boolean. */
const booleanOf = (value: unknown, depth = 0): boolean | undefined => {
  if (typeof value === "boolean") return value;
  if (value === 0) return false;
  if (typeof value === "string") return BOOLEAN.test(value) ? value.trim().toLowerCase() === "true" : undefined;
  if (depth > 2 || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 1 ? booleanOf(value[0], depth + 1) : undefined;
  const [one, ...others] = isObject(value) ? membersOf(value, "value") : [];
  return others.length === 0 ? booleanOf(one, depth + 1) : undefined;
};

/** Throws `invalidValue`. */
export const requireFew = (values: readonly unknown[], at: string): void => {
  if (values.length > MAX_VALUES) throw new ScimError(400, "invalidValue", `${at} has at most ${MAX_VALUES} values.`);
};

const readOne = (attribute: Attribute, value: unknown, at: string, ignored: Ignored): unknown => {
  const { type, subs } = attribute;
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 1 ? readOne(attribute, value[0], at, ignored) : ignore(ignored, at);
  if (subs !== undefined) {
    const members = isObject(value) ? value : { value };
    const read: Record<string, unknown> = {};
    for (const [name, one] of entriesOf(members)) {
      const sub = subs.get(name.toLowerCase());
      const known =
        sub === undefined || sub.isReadOnly ? ignore(ignored, `${at}.${name}`) : readValue(sub, one, `${at}.${sub.name}`, ignored);
      if (sub !== undefined && known !== undefined) read[sub.name] = known;
    }
    return Object.keys(read).length === 0 ? undefined : read;
  }
  if (type === "boolean") return booleanOf(value) ?? ignore(ignored, at);
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "true" : "false";
  return typeof value === "string" && !value.includes("\0") ? value : ignore(ignored, at);
};

/**
 * A value as its attribute takes it: names in any case, one value where several may be, text where an object with a `value` is meant. What
 * does not fit is ignored and named in `ignored`; `undefined`: nothing is left. Throws `invalidValue` for too many values.
 */
export const readValue = (attribute: Attribute, value: unknown, at: string, ignored: Ignored): unknown => {
  if (!attribute.isMulti) return readOne(attribute, value, at, ignored);
  const values = Array.isArray(value) ? value : [value];
  requireFew(values, at);
  const read = values.map((one) => readOne(attribute, one, at, ignored)).filter((one) => one !== undefined);
  return read.length === 0 ? undefined : read;
};

const isPrimary = (one: unknown): boolean => isObject(one) && one["primary"] === true;
/** It has more than what tells it from others. */
const isFilled = (one: unknown): boolean => isObject(one) && Object.keys(one).some((name) => name !== "primary" && name !== "type");

/**
 * Of several values one is primary: the newest that says so, which none of `before` is. One that is still empty takes it from no other, and
 * is none beside another once the message `isDone`.
 */
export const withOnePrimary = (values: readonly unknown[], before: readonly unknown[] = [], isDone = true): readonly unknown[] => {
  const primaries = values.filter(isPrimary);
  const filled = primaries.filter(isFilled);
  const rivals = filled.length === 0 ? primaries : filled;
  const chosen = rivals.findLast((one) => !before.includes(one)) ?? rivals.at(-1);
  const losers = (isDone ? primaries : rivals).filter((one) => one !== chosen);
  return losers.length === 0 ? values : values.map((one) => (losers.includes(one) ? { ...(one as object), primary: false } : one));
};

/** Throws `invalidValue` for a resource that is too large to be stored. */
export const requireSmall = <T extends ScimDocument>(document: T): T => {
  if (JSON.stringify(document).length > MAX_BYTES) throw new ScimError(400, "invalidValue", "A resource has at most 64 KiB.");
  return document;
};

export const unfit = ({ name }: Attribute): ScimError =>
  new ScimError(400, "invalidValue", `${name} must be ${name === "active" ? "true or false" : "text"}.`);

/** What somebody is known by, and whether they may come in, is never passed over. */
export const requireFit = (attribute: Attribute, given: unknown, read: unknown): void => {
  const { name } = attribute;
  const isKnownBy = ["active", "userName", "externalId"].includes(name) || attribute === roots.Group.subs?.get("displayname");
  if (isKnownBy && read === undefined && given !== undefined && given !== null) throw unfit(attribute);
};

/**
 * What is stored of a resource that was sent. Who is in a group is read apart: `members` are as they were sent. Throws `invalidSyntax`,
 * `invalidValue`. Cost: one pass.
 */
export const readDocument = (type: ScimType, sent: unknown, ignored: Ignored): ScimDocument => {
  if (!isObject(sent)) throw new ScimError(400, "invalidSyntax", "Send one resource as a JSON object.");
  const document: Record<string, unknown> = {};
  let members: unknown;
  for (const [name, value] of entriesOf(sent)) {
    const [attribute, ...deeper] = attributesAt(type, name, roots[type]) ?? [];
    if (attribute === undefined || deeper.length > 0) ignore(ignored, name);
    else if (attribute.name === "members") members = value;
    else if (!attribute.isReadOnly && attribute.name !== "schemas") {
      const read = readValue(attribute, value, attribute.name, ignored);
      requireFit(attribute, value, read);
      if (read !== undefined) document[attribute.name] = Array.isArray(read) ? withOnePrimary(read) : read;
    }
  }
  requireSmall(document);
  return members === undefined || members === null ? document : { ...document, members };
};

const BOOLEAN = /^\s*(?:true|false|-?0(?:\.0+)?(?:e[-+]?\d+)?)\s*$/i;
const CORE_USER = "urn:ietf:params:scim:schemas:core:2.0:user";
const SCHEMA = String.raw`urn:(?:ietf:params:)?scim:schemas:(?:core|extension:enterprise):[\d.]+`;
/** Also as other versions name the schema, behind the resource's name, as a JSON pointer, and with a filter or `value` behind it. */
const ACTIVE = new RegExp(String.raw`^[\s/]*(?:${SCHEMA}[:./])?(?:users?[:./])?active(?:\[[^\]]*\])?(?:\.value)?\s*$`, "i");
/** What the attributes of a user are sent within. */
const RESOURCE = new RegExp(String.raw`^[\s/]*(?:${SCHEMA})?[:./]?(?:users?)?[:./]?\s*$`, "i");
/** Anything else that is called so. */
const NAMED = /(?<![a-z0-9_])active(?![a-z0-9_])/i;
const FALSE = /^\s*(?:false|f|no|n|off|inactive|disabled|-?0+(?:\.0*)?)\s*$/i;
/** Of a name of one member of an operation. */
const MAX_NAME = 200;
/** A body that is refused may be deeper. */
const MAX_DEPTH = 40;

/** An operation is about the resource itself: the names of its value are the paths. */
export const isWholePath = (path: unknown): boolean =>
  path === undefined ||
  path === null ||
  (typeof path === "string" && ["", CORE_USER].includes(path.trim().toLowerCase().replace(/:$/, "")));

/** Members of these names in any case; a body that is refused may have several. */
const membersOf = (object: Readonly<Record<string, unknown>>, ...names: readonly string[]): readonly unknown[] =>
  Object.keys(object).flatMap((own) => (own.length <= MAX_NAME && names.includes(own.trim().toLowerCase()) ? [object[own]] : []));
/** The one of these names. Throws `invalidSyntax` where there are several. */
export const memberOf = (object: Readonly<Record<string, unknown>>, ...names: readonly string[]): unknown => {
  const [value, ...others] = membersOf(object, ...names);
  if (others.length > 0) throw twice(names.join(" or "));
  return value;
};
/** Some clients write it in the plural. */
export const VALUE = ["value", "values"] as const;

/** `unclear`: false under the name `active`, at a place that no schema of users has. */
type Said = boolean | "unclear" | undefined;
/** Of what stands beside one another, in no order, false counts. */
const least = (said: readonly Said[]): Said => [false, true, "unclear" as const].find((one) => said.includes(one));

/** Whether something in a value is false, of what is named `active` or of all where the value itself is. Stops between its members. */
const falseSteps = function* (value: unknown, isNamed = false, depth = 0): Generator<void, boolean> {
  if (typeof value !== "object" || value === null) return isNamed && FALSE.test(String(value));
  for (const [name, one] of depth < MAX_DEPTH ? Object.entries(value) : []) {
    yield;
    if (yield* falseSteps(one, isNamed || NAMED.test(name), depth + 1)) return true;
  }
  return false;
};

const saidWithin = (value: unknown, depth = 0): Said => {
  if (typeof value !== "object" || value === null || depth > 3) return undefined;
  const inside = Object.entries(value).map(([name, one]): Said => {
    if (Array.isArray(value) || (depth > 0 && name.trim().toLowerCase() === "value")) return saidWithin(one, depth + 1);
    if (ACTIVE.test(name)) return saidAt(name, one, depth);
    const said = RESOURCE.test(name) ? saidWithin(one, depth + 1) : undefined;
    return said === true && (depth > 0 || !isWholePath(name)) ? undefined : said;
  });
  return least(inside);
};
/** False counts by any of its names, true by those alone that the schemas have. */
const saidAt = (name: string, value: unknown, depth = 0): Said => {
  const said = booleanOf(value) ?? saidWithin(value, depth + 1);
  return said === true && attributesAt("User", name.trim()) === undefined ? undefined : said;
};

const operationSteps = function* (operation: Readonly<Record<string, unknown>>): Generator<void, Said> {
  const [ops, paths, values] = [membersOf(operation, "op"), membersOf(operation, "path"), membersOf(operation, ...VALUE)];
  // An operation that is none says it too, but one that takes away or only asks does not.
  const isSaying = ops.length === 0 || !ops.every((op) => typeof op === "string" && /^\s*(?:remove|test)\s*$/i.test(op));
  const at = (path: unknown): readonly Said[] =>
    isWholePath(path)
      ? values.map((value) => saidWithin(value))
      : typeof path === "string" && ACTIVE.test(path)
        ? values.map((value) => saidAt(path, value))
        : [];
  const said = isSaying ? least((paths.length === 0 ? [undefined] : paths).flatMap(at)) : undefined;
  if (said !== undefined) return said;
  const isNamed = paths.some((path) => typeof path === "string" && NAMED.test(path.replaceAll(/"[^"]*"/g, "")));
  return (yield* falseSteps(operation, isNamed)) ? "unclear" : undefined;
};

/**
 * Whether a message says that its user is active: its last operation that does, or its resource; where it says both at one place, false.
 * Looked for before anything else is read, and in what is none of RFC 7644. Throws `invalidValue` for a false that would be passed over.
 * Cost: linear; it stops between members.
 */
export const activeSteps = function* (sent: unknown): Generator<void, boolean | undefined> {
  const lists = Array.isArray(sent) ? [sent] : isObject(sent) ? membersOf(sent, "operations") : [];
  const parts: Said[] = [];
  for (const list of lists) {
    let said: Said;
    for (const one of (Array.isArray(list) ? list : [list]).filter(isObject)) {
      const next = yield* operationSteps(one);
      if (next !== undefined && !(next === "unclear" && said === false)) said = next;
    }
    parts.push(said);
  }
  const own = Array.isArray(sent) ? undefined : saidWithin(sent);
  const said = least([own === true && lists.length > 0 ? undefined : own, ...parts]);
  if (said === "unclear" || (said === undefined && (yield* falseSteps(sent))))
    throw new ScimError(
      400,
      "invalidValue",
      "active is false at a place or in a word that is not known: send it as active, true or false.",
    );
  return said;
};

/** What of `ignored` was not done: `active` of any name was where the message says false. */
export const undone = (ignored: Ignored, said: boolean | undefined): readonly string[] =>
  [...ignored].filter((name) => said !== false || !ACTIVE.test(name));
