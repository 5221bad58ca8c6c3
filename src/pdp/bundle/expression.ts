import type { Expr, PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
import { isObject } from "#contract/is-object.ts";

/** What a policy looks at; decides what has to be gathered for it, and what a remedy may change. */
export interface Reads {
  /** Members of `context`, the outermost name. */
  readonly context: ReadonlySet<string>;
  /** Ids of groups and roles that scope or conditions name. */
  readonly groups: ReadonlySet<string>;
  /** `<Type>::<id>` of every other entity named, but actions. */
  readonly entities: ReadonlySet<string>;
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

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

/** True where this holds of a node, or of one inside it. */
const holdsWithin = (value: Json | undefined, holds: (node: { readonly [name: string]: Json }) => boolean): boolean => {
  if (Array.isArray(value)) return (value as readonly Json[]).some((item) => holdsWithin(item, holds));
  return isObject(value) && (holds(value) || Object.values(value).some((inner) => holdsWithin(inner, holds)));
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
      if (entity.type === "Group" || entity.type === "BusinessRole") groups.add(entity.id);
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

/**
 * The actions that the scope of a policy names one by one, if nothing else in it speaks of an action: nothing that is said of
 * another action, or is unknown of it, can then change what holds of the policy. `undefined`: it may speak of any.
 */
export const soleActions = (policy: PolicyJson): readonly string[] | undefined => {
  const { action: scope, conditions } = policy;
  if (scope.op === "All" || "slot" in scope) return undefined;
  if (scope.op === "in" && "entity" in scope) return undefined;
  const speaks = holdsWithin(conditions as unknown as Json, (node) => node["Var"] === "action" || entityOf(node)?.type === "Action");
  if (speaks) return undefined;
  const named = "entities" in scope ? scope.entities : [scope.entity];
  return named.flatMap((entity) => {
    const found = entityOf(entity as unknown as { readonly [name: string]: Json });
    return found?.type === "Action" ? [found.id] : [];
  });
};

/**
 * True if more of something can only help: in a permit it stands where truth permits, in a forbid where truth spares. `bears`: whether a
 * part has anything of it; `helps`: of one that is neither `!`, `&&` nor `||`, whether more of it helps where its truth is `wanted`.
 */
const onlyHelps = (
  { effect, conditions }: PolicyJson,
  bears: (node: Json | undefined) => boolean,
  helps: (node: { readonly [name: string]: Json }, wanted: boolean) => boolean,
): boolean => {
  const holds = (node: Json | undefined, wanted: boolean): boolean => {
    if (!bears(node)) return true;
    if (!isObject(node)) return false;
    const [operator = ""] = Object.keys(node);
    const inner = node[operator];
    if (operator === "!" && isObject(inner)) return holds(inner["arg"], !wanted);
    if ((operator === "&&" || operator === "||") && isObject(inner)) return holds(inner["left"], wanted) && holds(inner["right"], wanted);
    return helps(node, wanted);
  };
  return conditions.every(({ kind, body }) => holds(body as Expr as unknown as Json, (kind === "when") === (effect === "permit")));
};

/**
 * True if more of a boolean member of `context` can only help. Tool lists are asked with such members taken as true, so a policy that
 * turns them round would list what nobody can call and hide what somebody can. Anything else than `!`, `&&`, `||` around it counts as
 * unclear.
 */
export const isMonotone = (policy: PolicyJson, member: string): boolean => {
  const isMember = (node: { readonly [name: string]: Json }): boolean => contextMember(node) === member;
  return onlyHelps(
    policy,
    (node) => holdsWithin(node, isMember),
    (node, wanted) => isMember(node) && wanted,
  );
};

/** Limits of a delegation that tool lists take as ample: which way is more. */
const limits: Readonly<Record<string, "up" | "down">> = { steps_left: "up", budget_left: "up", cost: "down" };

/** The member of `context.delegation` that this node takes, if it is one of the limits. */
const limitOf = (node: { readonly [name: string]: Json }): "up" | "down" | undefined => {
  const taken = node["."];
  if (!isObject(taken) || !isObject(taken["left"]) || contextMember(taken["left"]) !== "delegation") return undefined;
  const name = taken["attr"];
  return typeof name === "string" ? limits[name] : undefined;
};

const mentionsLimit = (node: Json | undefined): boolean => holdsWithin(node, (part) => limitOf(part) !== undefined);

/** Which way a number goes as limits grow; `unclear` where it cannot be told. */
const directionOf = (node: Json | undefined): "up" | "down" | "still" | "unclear" => {
  if (!mentionsLimit(node)) return "still";
  return (isObject(node) ? limitOf(node) : undefined) ?? "unclear";
};

/**
 * True if more steps or budget, or a smaller price, could make the policy permit less, or if that cannot be told: a limit
 * may stand alone on a side of `<`, `<=`, `>`, `>=`, under `!`, `&&`, `||`, so that more of it permits more.
 */
export const turnsLimitsRound = (policy: PolicyJson): boolean =>
  !onlyHelps(policy, mentionsLimit, (node, wanted) => {
    const [operator = ""] = Object.keys(node);
    const sides = node[operator];
    const rises = operator === ">" || operator === ">=";
    if (!isObject(sides) || (!rises && operator !== "<" && operator !== "<=")) return false;
    const [great, small] = rises === wanted ? [sides["left"], sides["right"]] : [sides["right"], sides["left"]];
    return ["up", "still"].includes(directionOf(great)) && ["down", "still"].includes(directionOf(small));
  });
