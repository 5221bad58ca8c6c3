import { createHash } from "node:crypto";
import { Messages, type Types } from "scimmy";
import { isObject } from "#contract/is-object.ts";
import { createTurns } from "#http/turns.ts";
import { asClientFault, ScimError } from "./scim-error.ts";
import { isReadable } from "./scim-filter.ts";
import { endpoints, schemaClasses, type ScimDocument, type ScimType } from "./scim-schemas.ts";
import { groupMembers } from "./scim-nodes.ts";
import { scimIdOf, type Link, type ScimRow } from "./scim-store.ts";

/** Resources as they are said and as they are sent. */

/** A resource is told with its groups or members, which change, and are renamed, without it: they are part of its version. */
export const tagOfResource = ({ rev }: Pick<ScimRow, "rev">, links: readonly Link[]): string => {
  if (links.length === 0) return `W/"${rev}"`;
  const linked = JSON.stringify(links.map(({ id, display }) => [id, display]));
  return `W/"${rev}.${createHash("sha256").update(linked).digest("hex").slice(0, 12)}"`;
};
const MOST_BYTES = 65_536;
const MOST_VALUES = 100;

const memberOf = (link: Link, base: string): object => ({
  value: scimIdOf(link.id),
  type: link.type,
  display: link.display ?? undefined,
  $ref: `${base}${endpoints[link.type]}/${scimIdOf(link.id)}`,
});

export type Attributes = InstanceType<typeof Types.Filter> | undefined;

/** As the library knows it: without its members or groups, each of which it would read anew whenever it looks at one attribute. */
const instanceOf = (type: ScimType, row: ScimRow, links: readonly Link[], base: string, attributes?: Attributes) =>
  new schemaClasses[type](
    {
      ...row.document,
      id: scimIdOf(row.id),
      meta: { created: row.created_at, lastModified: row.updated_at, version: tagOfResource(row, links) },
    },
    "out",
    `${base}${endpoints[type]}`,
    attributes,
  );

const linksOf = (type: ScimType, links: readonly Link[], base: string): object => {
  const linked = links.map((link) => memberOf(link, base));
  if (linked.length === 0) return {};
  return type === "Group" ? { members: linked } : { groups: linked.map((one) => ({ ...one, type: "direct" })) };
};

/** As it is answered: with its members, or the groups it is in, where they are wanted. */
export const viewOf = (
  type: ScimType,
  row: ScimRow,
  links: readonly Link[],
  base: string,
  wanted: { readonly links: boolean; readonly attributes: Attributes },
): object => ({
  ...(JSON.parse(JSON.stringify(instanceOf(type, row, links, base, wanted.attributes))) as object),
  // The library leaves out of a selection what says which resource it is.
  ...(wanted.attributes === undefined ? {} : { schemas: [schemaClasses[type].definition.id] }),
  ...(wanted.links ? linksOf(type, links, base) : {}),
});

/** The same as a filter looks at it: what is kept was read by the schema when it came. */
export const filteredOf = (type: ScimType, row: ScimRow, links: readonly Link[], base: string): object => ({
  ...row.document,
  id: scimIdOf(row.id),
  meta: { resourceType: type, created: row.created_at, lastModified: row.updated_at, version: tagOfResource(row, links) },
  ...linksOf(type, links, base),
});

/** What is kept of what was sent: the attributes of the schemas, none that the house itself says. Throws `invalidValue`. */
export const documentOf = (type: ScimType, sent: unknown): ScimDocument => {
  if (!isObject(sent)) throw new ScimError(400, "invalidSyntax", "Send one resource as a JSON object.");
  // Who is in a group is read apart: there may be very many.
  const isMembers = ([name]: readonly [string, unknown]): boolean => type === "Group" && name.toLowerCase() === "members";
  const entries = Object.entries(sent);
  const members = entries.find(isMembers)?.[1];
  const own = Object.fromEntries(entries.filter((entry) => !isMembers(entry)));
  if (JSON.stringify(own).length > MOST_BYTES) throw new ScimError(400, "invalidValue", "A resource has at most 64 KiB.");
  if (Object.values(own).some((value) => Array.isArray(value) && value.length > MOST_VALUES))
    throw new ScimError(400, "invalidValue", `An attribute has at most ${MOST_VALUES} values.`);
  const text = JSON.stringify(asClientFault("invalidValue", () => new schemaClasses[type](own, "in")));
  const { id: _id, meta: _meta, groups: _groups, ...read } = JSON.parse(text) as Record<string, unknown>;
  const kept = members === undefined || members === null ? read : { ...read, members };
  if (/(?<!\\)(?:\\\\)*\\u0000/.test(text)) throw new ScimError(400, "invalidValue", "Text holds NUL.");
  return type === "User" ? { active: true, ...kept } : kept;
};

const said = (value: unknown): unknown =>
  value === "True" || value === "true" ? true : value === "False" || value === "false" ? false : value;

/** Some directories say whether somebody is active by the words True and False. */
const plainOperation = (operation: unknown): unknown => {
  if (!isObject(operation)) return operation;
  const { path, value } = operation;
  if (typeof path === "string" && path.toLowerCase().startsWith("urn:") && isObject(value)) {
    const { schemas: _schemas, ...rest } = value;
    return { ...operation, value: rest };
  }
  if (typeof path === "string" && path.toLowerCase() === "active") return { ...operation, value: said(value) };
  if (path === undefined && isObject(value))
    return {
      ...operation,
      value: Object.fromEntries(Object.entries(value).map(([name, one]) => [name, name.toLowerCase() === "active" ? said(one) : one])),
    };
  return operation;
};

/** An extension goes attribute by attribute: the library cannot take it away as a whole. */
const withoutWhole =
  (document: ScimDocument) =>
  (operation: unknown): readonly unknown[] => {
    if (!isObject(operation) || typeof operation["op"] !== "string" || operation["op"].toLowerCase() !== "remove") return [operation];
    const { path } = operation;
    const held = typeof path === "string" && path.toLowerCase().startsWith("urn:") ? document[path] : undefined;
    return isObject(held) ? Object.keys(held).map((name) => ({ ...operation, path: `${String(path)}:${name}` })) : [operation];
  };

/** The library writes what is to be removed by its value into a filter, as it stands. */
const isFilterable = (value: unknown): boolean => {
  if (typeof value === "string") return !/["\\]/.test(value) && isReadable(value);
  if (Array.isArray(value)) return value.length <= MOST_VALUES && value.every(isFilterable);
  return !isObject(value) || Object.entries(value).every(([name, one]) => /^\$?\w+$/.test(name) && isFilterable(one));
};

/** Where no path is given the names of the values are paths. */
const requireReadable = (operations: readonly unknown[]): void => {
  for (const operation of operations.filter(isObject)) {
    const { op, path, value } = operation;
    const paths = path === undefined && isObject(value) ? Object.keys(value) : [path];
    if (paths.some((one) => typeof one === "string" && !isReadable(one)))
      throw new ScimError(400, "invalidPath", "A path names an attribute, in at most 1,000 characters with few of and, or and brackets.");
    if (typeof op === "string" && op.toLowerCase() === "remove" && !isFilterable(value))
      throw new ScimError(
        400,
        "invalidValue",
        `What is removed by its value is at most ${MOST_VALUES} values without quotation marks and backslashes.`,
      );
  }
};

const MOST_OPERATIONS = 1_000;
/** Of those that are not about members. */
const MOST_OWN_OPERATIONS = 100;
const pause = createTurns(5);

const MEMBERS = /^(?:urn:ietf:params:scim:schemas:core:2\.0:group:)?members(?![a-z])/i;
const ONE_MEMBER = /^\[\s*value\s+eq\s+"([^"\\]*)"\s*\]$/i;

/** Who is in a group after the operations about that, and the operations that are left. */
const memberOperations = (held: readonly string[], operations: readonly object[]) => {
  const members = new Set(held);
  const refused = new ScimError(400, "invalidPath", 'Members are named whole, or by members[value eq "..."] of an op remove.');
  const idsOf = (value: unknown): readonly string[] => groupMembers({ members: Array.isArray(value) ? value : [value] });
  const apply = (op: string, value: unknown): void => {
    if (op === "replace" || (op === "remove" && (value === undefined || value === null))) members.clear();
    for (const id of value === undefined || value === null ? [] : idsOf(value)) {
      if (op === "remove") members.delete(id);
      else members.add(id);
    }
  };
  const rest = operations.flatMap((operation): readonly object[] => {
    const { op, path, value } = operation as { readonly op?: unknown; readonly path?: unknown; readonly value?: unknown };
    const name = typeof op === "string" ? op.toLowerCase() : "";
    if (!["add", "replace", "remove"].includes(name)) return [operation];
    if (path === undefined && isObject(value)) {
      const named = Object.keys(value).find((key) => MEMBERS.test(key));
      if (named === undefined || name === "remove") return [operation];
      apply(name, value[named]);
      const { [named]: _members, ...others } = value;
      return Object.keys(others).length === 0 ? [] : [{ ...operation, value: others }];
    }
    const found = typeof path === "string" ? MEMBERS.exec(path) : null;
    if (typeof path !== "string" || found === null) return [operation];
    const [, one] = ONE_MEMBER.exec(path.slice(found[0].length)) ?? [];
    if (path.length === found[0].length) apply(name, value);
    else if (one !== undefined && name === "remove") members.delete(one);
    else throw refused;
    return [];
  });
  return { members: [...members], rest };
};

/** The document after a PatchOp of RFC 7644, 3.5.2, applied to all of it or not at all. Throws the faults of the client. */
export const patchedDocument = async (
  type: ScimType,
  row: ScimRow,
  links: readonly Link[],
  sent: unknown,
  base: string,
): Promise<ScimDocument> => {
  if (!isObject(sent)) throw new ScimError(400, "invalidSyntax", "Send a PatchOp.");
  const given = sent["Operations"];
  const isList = Array.isArray(given) && given.length > 0;
  if (isList && (given.length > MOST_OPERATIONS || !given.every(isObject)))
    throw new ScimError(400, "invalidSyntax", `Operations are at most ${MOST_OPERATIONS} objects.`);
  const held = links.map(({ id }) => scimIdOf(id));
  const { members, rest } = !isList
    ? { members: held, rest: [] }
    : type === "Group"
      ? memberOperations(held, given)
      : { members: [], rest: given };
  const operations = rest.map(plainOperation).flatMap(withoutWhole(row.document));
  if (operations.length > MOST_OWN_OPERATIONS)
    throw new ScimError(400, "invalidSyntax", `Operations on other things than members are at most ${MOST_OWN_OPERATIONS}.`);
  requireReadable(operations);
  let document = row.document;
  try {
    let instance: object = instanceOf(type, row, links, base);
    // One by one, for each reads the whole resource; what is no list of operations the library refuses.
    for (const one of isList ? operations.map((operation) => [operation]) : [given]) {
      const message = new Messages.PatchOp({ ...sent, Operations: one } as never);
      instance = ((await message.apply(instance as never)) as object | undefined) ?? instance;
      await pause();
    }
    if (!isList || operations.length > 0) document = documentOf(type, JSON.parse(JSON.stringify(instance)));
  } catch (error) {
    return asClientFault("invalidValue", () => {
      throw error;
    });
  }
  return type === "Group" ? { ...document, members: members.map((value) => ({ value })) } : document;
};
