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

/** Of what is sent. Throws `invalidValue`. */
export const entriesOf = (object: object): readonly (readonly [string, unknown])[] => {
  if (Object.keys(object).length > MAX_NAMES) throw new ScimError(400, "invalidValue", `An object has at most ${MAX_NAMES} members.`);
  return Object.entries(object);
};

const ignore = (ignored: Ignored, at: string): undefined => {
  if (ignored.size < MAX_IGNORED) ignored.add(at.slice(0, 100));
  return undefined;
};

/** "True" and "False" are what Entra ID sends, some in a list or an object of one `value`. `undefined`: it is no Boolean. */
const booleanOf = (value: unknown, depth = 0): boolean | undefined => {
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return /^\s*(?:true|false)\s*$/i.test(value) ? value.trim().toLowerCase() === "true" : undefined;
  if (depth > 2 || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 1 ? booleanOf(value[0], depth + 1) : undefined;
  return isObject(value) && Object.hasOwn(value, "value") ? booleanOf(value["value"], depth + 1) : undefined;
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

/** Of several values one is primary: the newest that says so, which none of `before` is. */
export const withOnePrimary = (values: readonly unknown[], before: readonly unknown[] = []): readonly unknown[] => {
  const primaries = values.filter((one) => isObject(one) && one["primary"] === true);
  if (primaries.length < 2) return values;
  const chosen = primaries.findLast((one) => !before.includes(one)) ?? primaries.at(-1);
  return values.map((one) => (isObject(one) && one["primary"] === true && one !== chosen ? { ...one, primary: false } : one));
};

/** Throws `invalidValue` for a resource that is too large to be stored. */
export const requireSmall = <T extends ScimDocument>(document: T): T => {
  if (JSON.stringify(document).length > MAX_BYTES) throw new ScimError(400, "invalidValue", "A resource has at most 64 KiB.");
  return document;
};

/** What somebody is known by, and whether they may come in, is never passed over. */
export const requireFit = ({ name }: Attribute, given: unknown, read: unknown): void => {
  if (["active", "userName", "externalId"].includes(name) && read === undefined && given !== undefined && given !== null)
    throw new ScimError(400, "invalidValue", `${name} must be ${name === "active" ? "true or false" : "text"}.`);
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

const CORE_USER = "urn:ietf:params:scim:schemas:core:2.0:user";
const ACTIVE = /^\s*(?:urn:ietf:params:scim:schemas:core:2\.0:user:)?active(?:\.value)?\s*$/i;

/** An operation is about the resource itself: the names of its value are the paths. */
export const isWholePath = (path: unknown): boolean =>
  path === undefined ||
  path === null ||
  (typeof path === "string" && ["", CORE_USER].includes(path.trim().toLowerCase().replace(/:$/, "")));

/** A member by its name in any case. */
export const memberOf = (object: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.entries(object).find(([own]) => own.trim().toLowerCase() === name)?.[1];

/** The last word of a message on whether its user is active; looked for before anything else is read. Cost: one pass. */
export const saidActive = (method: string, sent: unknown): boolean | undefined => {
  if (!isObject(sent)) return undefined;
  const within = (members: unknown): boolean | undefined =>
    (isObject(members) ? Object.entries(members) : [])
      .map(([name, one]) => (ACTIVE.test(name) ? booleanOf(one) : name !== "" && isWholePath(name) ? within(one) : undefined))
      .findLast((said) => said !== undefined);
  if (method === "PUT") return within(sent);
  const operations = memberOf(sent, "operations");
  return (Array.isArray(operations) ? operations : [])
    .filter(isObject)
    .filter((one) => /^\s*(?:add|replace)\s*$/i.test(String(memberOf(one, "op"))))
    .map((one) => {
      const [path, value] = [memberOf(one, "path"), memberOf(one, "value")];
      return isWholePath(path) ? within(value) : ACTIVE.test(String(path)) ? booleanOf(value) : undefined;
    })
    .findLast((said) => said !== undefined);
};
