import type { DetailedError, SchemaJson } from "@cedar-policy/cedar-wasm/nodejs";
import { schemaToJsonWithResolvedTypes } from "#pdp/model/cedar-program.ts";
import { inPieces } from "#pdp/model/in-pieces.ts";
import { findTooDeep } from "./depth.ts";
import { perText } from "./per-text.ts";
import { placeInText, shownFile, type Finding } from "./findings.ts";

/** The type of a value, as far as we have to make one. */
export type Shape =
  | { readonly type: "String" | "Long" | "Bool" }
  | { readonly type: "Set"; readonly element: Shape }
  | { readonly type: "Record"; readonly attributes: Readonly<Record<string, Shape & { readonly required?: boolean }>> }
  | { readonly type: "Entity"; readonly name: string };

export interface ActionShape {
  /** Action groups it belongs to, at any depth. */
  readonly groups: ReadonlySet<string>;
  readonly resourceTypes: readonly string[];
  readonly context: Readonly<Record<string, Shape & { readonly required?: boolean }>>;
}

/** What a schema is made of: data alone, which may go to another thread. */
export interface SchemaSource {
  readonly text: string;
  /** As Cedar resolves it, by namespace. */
  readonly json: SchemaJson<string>;
}

export interface Schema extends SchemaSource {
  /** Actions that can be asked, by id. */
  readonly actions: ReadonlyMap<string, ActionShape>;
  /** Attributes of an entity type. */
  readonly attributes: (entityType: string) => Readonly<Record<string, Shape & { readonly required?: boolean }>>;
  readonly entityTypes: ReadonlySet<string>;
  /**
   * A schema that holds this action with all that it can reach, the same object for some that reach the same: Cedar's work on a question grows
   * with the schema it is given, and that on a bundle with the number of schemas. The first call makes all of them, 6 ms for 101 actions.
   */
  readonly ofAction: (action: string) => SchemaJson<string> | string;
  /** The schema with every type but these actions alone; `undefined` where it has more than one namespace. */
  readonly withActions: (actions: readonly string[]) => SchemaJson<string> | undefined;
}

interface ActionJson {
  readonly appliesTo?: { readonly resourceTypes: readonly string[]; readonly context?: Shape | { readonly type: string } };
  readonly memberOf?: readonly { readonly id: string }[];
}

interface NamespaceJson {
  readonly commonTypes?: Readonly<Record<string, Shape>>;
  readonly entityTypes: Readonly<Record<string, { readonly shape?: Shape }>>;
  readonly actions: Readonly<Record<string, ActionJson>>;
}

/** Actions that share a schema. Each takes half a microsecond of every question; what Cedar reads for the shipped 101 falls to a third. */
const PER_PART = 8;

export const schemaFile = "schema.cedarschema";
const file = shownFile(schemaFile);

const resolved = perText<ReturnType<typeof schemaToJsonWithResolvedTypes>>();

/** The schema of a bundle in both its forms; `undefined` with an issue when it cannot be read. */
export const readSchema = (text: string | undefined, issues: Finding[]): Schema | undefined => {
  if (text === undefined) {
    issues.push({ path: file, file, message: "is missing" });
    return undefined;
  }
  const tooDeep = findTooDeep(text, "schema");
  if (tooDeep !== undefined) {
    issues.push({ path: file, file, ...tooDeep });
    return undefined;
  }
  const read = resolved([text], () => schemaToJsonWithResolvedTypes(text));
  if (read.type === "failure") {
    issues.push(...read.errors.map((error) => cedarError(file, text, error)));
    return undefined;
  }
  if (read.json[""] === undefined) {
    issues.push({ path: file, file, message: "declares nothing outside a namespace" });
    return undefined;
  }
  return schemaOf({ text, json: read.json as SchemaJson<string> });
};

/** The schema of what `readSchema` read. Asks nothing of Cedar. */
export const schemaOf = ({ text, json }: SchemaSource): Schema => {
  const namespace = json[""] as unknown as NamespaceJson;
  const isWhole = Object.keys(json).length === 1;
  const groupsOf = (id: string, seen: Set<string> = new Set()): Set<string> => {
    for (const parent of namespace.actions[id]?.memberOf ?? []) {
      if (!seen.has(parent.id)) groupsOf(parent.id, seen.add(parent.id));
    }
    return seen;
  };
  const contextOf = (shape: Shape | { readonly type: string } | undefined): ActionShape["context"] => {
    const resolved = shape !== undefined && !("attributes" in shape) ? namespace.commonTypes?.[shape.type] : shape;
    return resolved !== undefined && "attributes" in resolved ? resolved.attributes : {};
  };
  const actions = new Map<string, ActionShape>();
  for (const [id, action] of Object.entries(namespace.actions)) {
    if (action.appliesTo === undefined || action.appliesTo.resourceTypes.length === 0) continue;
    actions.set(id, {
      groups: groupsOf(id),
      resourceTypes: action.appliesTo.resourceTypes,
      context: contextOf(action.appliesTo.context),
    });
  }
  const attributes: Schema["attributes"] = (entityType) => {
    const shape = namespace.entityTypes[entityType]?.shape;
    return shape !== undefined && "attributes" in shape ? shape.attributes : {};
  };
  const asSchema = (content: NamespaceJson): SchemaJson<string> => ({ "": content }) as unknown as SchemaJson<string>;
  const withGroups = (ids: readonly string[]): ReadonlySet<string> => new Set(ids.flatMap((id) => [id, ...groupsOf(id)]));
  const parts = new Map<string, SchemaJson<string>>();
  const makeParts = (ids: readonly string[]): void => {
    const reaches = (id: string): string => {
      const { commonTypes = {}, entityTypes } = partOf(namespace, withGroups([id]));
      return JSON.stringify([commonTypes, entityTypes].map((types) => Object.keys(types).toSorted()));
    };
    const reachingSame = [...Map.groupBy(ids, reaches).values()];
    for (const some of reachingSame.flatMap((all) => inPieces(all, PER_PART))) {
      const part = asSchema(partOf(namespace, withGroups(some)));
      for (const id of some) parts.set(id, part);
    }
  };
  const ofAction: Schema["ofAction"] = (action) => {
    if (!isWhole) return text;
    if (!parts.has(action)) makeParts(actions.has(action) ? [...actions.keys()] : [action]);
    return parts.get(action) ?? text;
  };
  const withActions: Schema["withActions"] = (wanted) =>
    isWhole ? asSchema({ ...namespace, actions: actionsOf(namespace, withGroups(wanted)) }) : undefined;
  return { text, json, actions, attributes, entityTypes: new Set(Object.keys(namespace.entityTypes)), ofAction, withActions };
};

const actionsOf = (namespace: NamespaceJson, ids: Iterable<string>): NamespaceJson["actions"] =>
  Object.fromEntries([...ids].flatMap((id) => (namespace.actions[id] === undefined ? [] : [[id, namespace.actions[id]] as const])));

/** These actions, and every type whose name stands anywhere in them or in a type so found; one too many does no harm. */
const partOf = (namespace: NamespaceJson, actions: Iterable<string>): NamespaceJson => {
  const entityTypes: Record<string, NamespaceJson["entityTypes"][string]> = {};
  const commonTypes: Record<string, Shape> = {};
  const walk = (value: unknown): void => {
    if (typeof value === "string") {
      const entity =
        Object.hasOwn(namespace.entityTypes, value) && !Object.hasOwn(entityTypes, value) ? namespace.entityTypes[value] : undefined;
      if (entity !== undefined) walk((entityTypes[value] = entity));
      const common =
        Object.hasOwn(namespace.commonTypes ?? {}, value) && !Object.hasOwn(commonTypes, value)
          ? namespace.commonTypes?.[value]
          : undefined;
      if (common !== undefined) walk((commonTypes[value] = common));
    } else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) walk(part);
  };
  const kept = actionsOf(namespace, actions);
  walk(kept);
  return { commonTypes, entityTypes, actions: kept };
};

/** What Cedar says of a file that it cannot read. */
export const cedarError = (path: string, text: string, error: DetailedError): Finding => ({
  path,
  file: path,
  message: error.message,
  ...placeInText(text, error.sourceLocations?.[0]?.start),
  ...hintOf(error),
});

/** What Cedar advises: its help, or what it expected at the place. */
export const hintOf = (error: DetailedError): { readonly hint?: string } => {
  const hint = error.help ?? error.sourceLocations?.[0]?.label ?? undefined;
  return hint === undefined ? {} : { hint };
};
