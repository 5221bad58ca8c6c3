import { Schemas } from "scimmy";
import { schemaClasses, type ScimType } from "./scim-schemas.ts";

/** What the schemas say of an attribute. An extension is a complex attribute that is named by its URN. */
export interface Attribute {
  readonly name: string;
  readonly type: string;
  readonly isMulti: boolean;
  readonly isReadOnly: boolean;
  readonly isCaseExact: boolean;
  /** Of a complex one, by names in lower case. */
  readonly subs?: ReadonlyMap<string, Attribute>;
}

interface Definition {
  readonly name: string;
  readonly id?: string;
  readonly type: string;
  readonly config?: { readonly multiValued: boolean; readonly mutable: boolean | string; readonly caseExact: boolean };
  readonly subAttributes?: readonly Definition[];
  readonly attributes?: readonly Definition[];
}

const byName = (definitions: readonly Definition[]): ReadonlyMap<string, Attribute> =>
  new Map(definitions.map(attributeOf).map((one) => [one.name.toLowerCase(), one]));

function attributeOf({ name, id, type, config, subAttributes, attributes }: Definition): Attribute {
  const subs = attributes ?? subAttributes;
  return {
    name: attributes === undefined ? name : (id ?? name),
    type: attributes === undefined ? type : "complex",
    isMulti: config?.multiValued === true,
    isReadOnly: config?.mutable === false,
    isCaseExact: config?.caseExact === true,
    ...(subs === undefined || subs.length === 0 ? {} : { subs: byName([...subs]) }),
  };
}

const rootOf = (type: ScimType): Attribute =>
  attributeOf({ name: "", type: "complex", subAttributes: schemaClasses[type].definition.attributes as unknown as readonly Definition[] });

/** Each resource as one complex attribute. */
export const roots: Readonly<Record<ScimType, Attribute>> = { User: rootOf("User"), Group: rootOf("Group") };

export const ENTERPRISE: string = Schemas.EnterpriseUser.definition.id;

/**
 * The attributes that a dotted name leads through, from the outermost; in any case, and behind any schema's URN. `undefined`: there is no
 * such attribute. Below a complex attribute: `from`.
 */
export const attributesAt = (type: ScimType, name: string, from: Attribute = roots[type]): readonly Attribute[] | undefined => {
  const steps: Attribute[] = [];
  let rest = name.toLowerCase();
  if (from === roots[type]) {
    const [core, enterprise] = [schemaClasses[type].definition.id.toLowerCase(), ENTERPRISE.toLowerCase()];
    const extension = from.subs?.get(enterprise);
    if (rest.startsWith(`${core}:`) || rest.startsWith(`${core}.`)) rest = rest.slice(core.length + 1);
    else if (extension !== undefined && (rest === enterprise || rest.startsWith(`${enterprise}:`) || rest.startsWith(`${enterprise}.`))) {
      steps.push(extension);
      rest = rest.slice(enterprise.length + 1);
      if (rest === "") return steps;
    }
  }
  for (const part of rest.split(".")) {
    const next = (steps.at(-1) ?? from).subs?.get(part);
    if (next === undefined) return undefined;
    steps.push(next);
  }
  return steps;
};
