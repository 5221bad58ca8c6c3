import type { Expr, PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";

/** What a policy looks at; decides what has to be gathered for it, and what a remedy may change. */
export interface Reads {
  /** Members of `context`, the outermost name. */
  readonly context: ReadonlySet<string>;
  /** Ids of groups that scope or conditions name. */
  readonly groups: ReadonlySet<string>;
  /** `<Type>::<id>` of every other entity named, but actions. */
  readonly entities: ReadonlySet<string>;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const isObject = (value: Json | undefined): value is { readonly [name: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isContext = (value: Json | undefined): boolean => isObject(value) && value["Var"] === "context";

/** The member of `context` that this node takes or tests, if it is such a node. */
const contextMember = (node: { readonly [name: string]: Json }): string | undefined => {
  for (const operator of [".", "has"]) {
    const inner = node[operator];
    if (isObject(inner) && isContext(inner["left"])) {
      const attribute = inner["attr"];
      const name = Array.isArray(attribute) ? attribute[0] : attribute;
      if (typeof name === "string") return name;
    }
  }
  return undefined;
};

const entityOf = (node: { readonly [name: string]: Json }): { readonly type: string; readonly id: string } | undefined => {
  const wrapped = isObject(node["__entity"]) ? node["__entity"] : node;
  const { type, id } = wrapped;
  return typeof type === "string" && typeof id === "string" && Object.keys(wrapped).length === 2 ? { type, id } : undefined;
};

/** All that a policy reads, from its JSON form. `context` itself used as a value throws: a policy must name members. */
export const readsOf = (policy: PolicyJson): Reads => {
  const context = new Set<string>();
  const groups = new Set<string>();
  const entities = new Set<string>();
  const walk = (value: Json | undefined): void => {
    if (Array.isArray(value)) {
      for (const item of value as readonly Json[]) walk(item);
      return;
    }
    if (!isObject(value)) return;
    const entity = entityOf(value);
    if (entity !== undefined) {
      if (entity.type === "Group") groups.add(entity.id);
      else if (entity.type !== "Action") entities.add(`${entity.type}::${entity.id}`);
      return;
    }
    if (isContext(value)) throw new RangeError("a policy names members of context, not context itself");
    const member = contextMember(value);
    if (member !== undefined) {
      context.add(member);
      return;
    }
    for (const inner of Object.values(value)) walk(inner);
  };
  const { principal, resource, conditions } = policy as unknown as Record<string, Json>;
  walk(principal);
  walk(resource);
  walk(conditions);
  return { context, groups, entities };
};

const flips: ReadonlySet<string> = new Set(["!"]);
const keeps: ReadonlySet<string> = new Set(["&&", "||"]);

/**
 * True if more of a boolean member of `context` can only help: in a permit it stands where truth permits, in a forbid
 * where truth spares. Tool lists are asked with such members taken as true, so a policy that turns them round would list
 * what nobody can call and hide what somebody can. Anything else than `!`, `&&`, `||` around it counts as unclear.
 */
export const isMonotone = (policy: PolicyJson, member: string): boolean => {
  const mentions = (node: Json): boolean => {
    if (Array.isArray(node)) return (node as readonly Json[]).some(mentions);
    if (!isObject(node)) return false;
    return contextMember(node) === member || Object.values(node).some(mentions);
  };
  const helps = (node: Json, wanted: boolean): boolean => {
    if (!isObject(node) || !mentions(node)) return true;
    if (contextMember(node) === member) return wanted;
    const [operator] = Object.keys(node);
    const inner = operator === undefined ? undefined : node[operator];
    if (operator === undefined || !isObject(inner)) return false;
    if (flips.has(operator)) return helps(inner["arg"] ?? null, !wanted);
    return keeps.has(operator) && helps(inner["left"] ?? null, wanted) && helps(inner["right"] ?? null, wanted);
  };
  const truthHelps = policy.effect === "permit";
  return policy.conditions.every((clause) =>
    helps(clause.body as Expr as unknown as Json, clause.kind === "when" ? truthHelps : !truthHelps),
  );
};
