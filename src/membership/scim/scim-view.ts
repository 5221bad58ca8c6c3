import { Messages, type Types } from "scimmy";
import { isObject } from "#contract/is-object.ts";
import { asClientFault, ScimError } from "./scim-error.ts";
import { endpoints, schemaClasses, type ScimDocument, type ScimType } from "./scim-schemas.ts";
import { scimIdOf, type Link, type ScimRow } from "./scim-store.ts";

/** Resources as they are said and as they are sent. */

export const tagOfResource = ({ rev }: Pick<ScimRow, "rev">): string => `W/"${rev}"`;
const MOST_BYTES = 65_536;

const memberOf = (link: Link, base: string): object => ({
  value: scimIdOf(link.id),
  type: link.type,
  display: link.display ?? undefined,
  $ref: `${base}${endpoints[link.type]}/${scimIdOf(link.id)}`,
});

type Attributes = InstanceType<typeof Types.Filter> | undefined;

/** As it is answered: with its members, or the groups it is in. */
export const viewOf = (type: ScimType, row: ScimRow, links: readonly Link[], base: string, attributes?: Attributes) => {
  const linked = links.map((link) => memberOf(link, base));
  const source = {
    ...row.document,
    id: scimIdOf(row.id),
    meta: { created: row.created_at, lastModified: row.updated_at, version: tagOfResource(row) },
    ...(type === "Group" ? { members: linked } : linked.length === 0 ? {} : { groups: linked.map((one) => ({ ...one, type: "direct" })) }),
  };
  const view = new schemaClasses[type](source, "out", `${base}${endpoints[type]}`, attributes);
  // The library leaves out of a selection what says which resource it is.
  return attributes === undefined
    ? view
    : Object.assign(JSON.parse(JSON.stringify(view)) as object, { schemas: [schemaClasses[type].definition.id] });
};

/** What is kept of what was sent: the attributes of the schemas, none that the house itself says. Throws `invalidValue`. */
export const documentOf = (type: ScimType, sent: unknown): ScimDocument => {
  if (!isObject(sent)) throw new ScimError(400, "invalidSyntax", "Send one resource as a JSON object.");
  const read = asClientFault("invalidValue", () => new schemaClasses[type]({ ...sent }, "in"));
  const text = JSON.stringify(read);
  const { id: _id, meta: _meta, groups: _groups, ...kept } = JSON.parse(text) as Record<string, unknown>;
  const { members: _members, ...weighed } = kept;
  if (JSON.stringify(weighed).length > MOST_BYTES) throw new ScimError(400, "invalidValue", "A resource has at most 64 KiB.");
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

const MOST_OPERATIONS = 1_000;

/** The document after a PatchOp of RFC 7644, 3.5.2, applied to all of it or not at all. Throws the faults of the client. */
export const patchedDocument = async (
  type: ScimType,
  row: ScimRow,
  links: readonly Link[],
  sent: unknown,
  base: string,
): Promise<ScimDocument> => {
  if (!isObject(sent)) throw new ScimError(400, "invalidSyntax", "Send a PatchOp.");
  const operations = Array.isArray(sent["Operations"])
    ? sent["Operations"].map(plainOperation).flatMap(withoutWhole(row.document))
    : sent["Operations"];
  if (Array.isArray(operations) && (operations.length > MOST_OPERATIONS || !operations.every(isObject)))
    throw new ScimError(400, "invalidSyntax", `Operations are at most ${MOST_OPERATIONS} objects.`);
  const before = viewOf(type, row, links, base);
  try {
    const message = new Messages.PatchOp({ ...sent, Operations: operations } as never);
    const after: unknown = await message.apply(before as never);
    return documentOf(type, JSON.parse(JSON.stringify(after ?? before)));
  } catch (error) {
    return asClientFault("invalidValue", () => {
      throw error;
    });
  }
};
