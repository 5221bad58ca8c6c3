import { createHash } from "node:crypto";
import { isObject } from "#contract/is-object.ts";
import { createYielding } from "#http/yielding.ts";
import { ENTERPRISE, type Attribute } from "./scim-attributes.ts";
import { readAttributes } from "./scim-filter.ts";
import { endpoints, schemaClasses, type ScimDocument, type ScimType } from "./scim-schemas.ts";
import { scimIdOf, type Link, type ScimRow } from "./scim-store.ts";

const pause = createYielding(5);
/** Members that are written at a stretch. */
const AT_ONCE = 500;

/** Whether the person may come in, whoever said so last. */
const isActive = ({ state }: Pick<ScimRow, "state">): boolean => state === "active";

/** A resource is told with its groups or members, which change, and are renamed, without it: they are part of its version, as is who else switched it off. Cost: linear, with turns for others. */
export const tagOfResource = async (row: ScimRow, links: readonly Link[]): Promise<string> => {
  const said = row.document["active"];
  const own = said !== undefined && said !== isActive(row) ? `${row.rev}-${row.state}` : `${row.rev}`;
  if (links.length === 0) return `W/"${own}"`;
  const hash = createHash("sha256");
  for (const [at, { id, display }] of links.entries()) {
    hash.update(JSON.stringify([id, display]));
    if (at % AT_ONCE === AT_ONCE - 1) await pause();
  }
  return `W/"${own}.${hash.digest("hex").slice(0, 12)}"`;
};

/** The attributes that an answer shows: these alone, or all but these. */
export interface Selection {
  readonly isOnly: boolean;
  readonly tree: Tree;
}
/** By name; `undefined`: all of it. */
type Tree = Map<string, Tree | undefined>;

const treeOf = (paths: readonly (readonly Attribute[])[]): Tree => {
  const root: Tree = new Map();
  for (const path of paths) {
    let tree = root;
    for (const [at, { name }] of path.entries()) {
      const isKnown = tree.has(name);
      const next = tree.get(name);
      if (isKnown && next === undefined) break;
      const deeper = at === path.length - 1 ? undefined : (next ?? new Map());
      tree.set(name, deeper);
      if (deeper === undefined) break;
      tree = deeper;
    }
  }
  return root;
};

/** Throws `invalidValue`. */
export const selectionOf = (type: ScimType, { searchParams }: URL): Selection | undefined => {
  const [only, none] = [searchParams.get("attributes"), searchParams.get("excludedAttributes")];
  const list = only ?? none;
  return list === null ? undefined : { isOnly: only !== null, tree: treeOf(readAttributes(type, list)) };
};

const selected = (value: unknown, isOnly: boolean, tree: Tree | undefined): unknown => {
  if (tree === undefined) return value;
  if (Array.isArray(value)) return value.map((one) => selected(one, isOnly, tree));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]): readonly [string, unknown][] => {
      if (!tree.has(name)) return isOnly ? [] : [[name, one]];
      const deeper = tree.get(name);
      return deeper === undefined ? (isOnly ? [[name, one]] : []) : [[name, selected(one, isOnly, deeper)]];
    }),
  );
};

const linkedName = (type: ScimType): string => (type === "Group" ? "members" : "groups");
/** Whether a list shows links, or the version, which they are part of. */
export const needsLinks = (type: ScimType, selection: Selection | undefined): boolean =>
  wantsLinks(type, selection) || selection?.isOnly !== true || selection.tree.has("meta");

const wantsLinks = (type: ScimType, selection: Selection | undefined): boolean =>
  selection === undefined ||
  (selection.tree.has(linkedName(type)) ? selection.isOnly || selection.tree.get(linkedName(type)) !== undefined : !selection.isOnly);

const schemasOf = (type: ScimType, document: ScimDocument): readonly string[] => [
  schemaClasses[type].definition.id,
  ...(document[ENTERPRISE] === undefined ? [] : [ENTERPRISE]),
];

/** As a filter looks at it, with the links that it names. */
export const filteredOf = (type: ScimType, row: ScimRow, links: readonly Link[]): object => ({
  ...row.document,
  ...(type === "User" ? { active: isActive(row) } : {}),
  schemas: schemasOf(type, row.document),
  id: scimIdOf(row.id),
  meta: { resourceType: type, created: row.created_at, lastModified: row.updated_at },
  ...(links.length === 0 ? {} : { [linkedName(type)]: links.map(({ id }) => ({ value: scimIdOf(id) })) }),
});

/** As it is answered, as text: there may be very many members. Cost: linear, with turns for others. */
export const viewOf = async (
  type: ScimType,
  row: ScimRow,
  links: readonly Link[],
  { base, selection }: { readonly base: string; readonly selection: Selection | undefined },
): Promise<{ readonly tag: string; readonly text: string }> => {
  const tag = await tagOfResource(row, links);
  const id = scimIdOf(row.id);
  const meta = {
    resourceType: type,
    created: row.created_at,
    lastModified: row.updated_at,
    location: `${base}${endpoints[type]}/${id}`,
    version: tag,
  };
  const { schemas: _schemas, ...document } = row.document;
  const whole = { ...document, ...(type === "User" ? { active: isActive(row) } : {}), meta };
  const shown = selection === undefined ? whole : (selected(whole, selection.isOnly, selection.tree) as object);
  const text = JSON.stringify({ schemas: schemasOf(type, row.document), id, ...shown });
  if (links.length === 0 || !wantsLinks(type, selection)) return { tag, text };
  const deeper = selection?.tree.get(linkedName(type));
  const parts: string[] = [];
  for (let at = 0; at < links.length; at += AT_ONCE) {
    for (const link of links.slice(at, at + AT_ONCE)) {
      const linked = {
        value: scimIdOf(link.id),
        type: type === "Group" ? link.type : "direct",
        display: link.display ?? undefined,
        $ref: `${base}${endpoints[link.type]}/${scimIdOf(link.id)}`,
      };
      parts.push(JSON.stringify(selection === undefined ? linked : selected(linked, selection.isOnly, deeper)));
    }
    await pause();
  }
  return { tag, text: `${text.slice(0, -1)},"${linkedName(type)}":[${parts.join(",")}]}` };
};
