import { schemaToJsonWithResolvedTypes } from "@cedar-policy/cedar-wasm/nodejs";
import type { Fault } from "#contract/problem.ts";

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

export interface Schema {
  readonly text: string;
  /** Actions that can be asked, by id. */
  readonly actions: ReadonlyMap<string, ActionShape>;
  /** Attributes of an entity type. */
  readonly attributes: (entityType: string) => Readonly<Record<string, Shape & { readonly required?: boolean }>>;
  readonly entityTypes: ReadonlySet<string>;
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

const file = "schema.cedarschema";

/** The schema of a bundle in both its forms; `undefined` with a fault when it cannot be read. */
export const readSchema = (text: string | undefined, faults: Fault[]): Schema | undefined => {
  if (text === undefined) {
    faults.push({ path: file, file, message: "is missing" });
    return undefined;
  }
  const read = schemaToJsonWithResolvedTypes(text);
  if (read.type === "failure") {
    for (const error of read.errors)
      faults.push({ path: file, file, message: error.message, ...lineOf(text, error.sourceLocations?.[0]?.start) });
    return undefined;
  }
  const namespace = read.json[""] as unknown as NamespaceJson | undefined;
  if (namespace === undefined) {
    faults.push({ path: file, file, message: "declares nothing outside a namespace" });
    return undefined;
  }
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
  return { text, actions, attributes, entityTypes: new Set(Object.keys(namespace.entityTypes)) };
};

/** Line (from 1) of an offset in a text. */
export const lineOf = (text: string, offset: number | undefined): { readonly line?: number } =>
  offset === undefined ? {} : { line: Buffer.from(text).subarray(0, offset).toString().split("\n").length };
