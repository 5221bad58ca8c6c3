import type { Finding } from "#pdp/bundle/findings.ts";
import { noFacts } from "#pdp/facts/no-facts.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import { pairOf } from "#pdp-client/pairs.ts";
import type { Question } from "#pdp/model/question.ts";

/** Code of the finding. */
export const LOCKS_OUT = "locks_everybody_out";

/** With so many groups named, every set of them is tried; beyond it each one, each two, and all together. */
const MAX_GROUPS_IN_FULL = 8;

const subsetsOf = (groups: readonly string[]): readonly (readonly string[])[] => {
  if (groups.length <= MAX_GROUPS_IN_FULL) {
    return Array.from({ length: 2 ** groups.length }, (_none, bits) => groups.filter((_group, at) => (bits >> at) % 2 === 1));
  }
  const pairs = groups.flatMap((one, at) => groups.slice(at + 1).map((other) => [one, other]));
  return [[], ...groups.map((group) => [group]), ...pairs, groups];
};

/** Somebody with these memberships who signed in strongly just now asks to activate policies. */
const asksToActivate = (id: string, groups: readonly string[], tenant: string): Question | undefined => {
  const pair = pairOf("policies", "activate");
  if (pair === undefined) return undefined;
  return {
    pair,
    resourceId: "*",
    tenant,
    facts: {
      ...noFacts,
      subject: { id, kind: "Person", name: id, tenant_ids: [tenant], groups: [...groups], disabled: false, mfa_level: "strong" },
      chain: true,
      definition_ok: true,
    },
    inputs: { mfa: true, approved: false, could: false, tools_scope: false, assigned: false, cost_micro: 0 },
    props: {},
    claimed: {},
    ui: {},
  };
};

const mayActivate = (engine: Engine, id: string, groups: readonly string[], tenant: string): boolean => {
  const question = asksToActivate(id, groups, tenant);
  return question !== undefined && engine.bundle.schema.actions.has(question.pair.key) && engine.judge(question).permit;
};

/** A tenant that no policy names unless one does. */
const tenantsNamed = (engine: Engine): readonly string[] =>
  [...engine.slice("policies:activate").entities].flatMap((entity) => (entity.startsWith("Tenant::") ? [entity.slice(8)] : []));

/**
 * What is wrong with a version under which nobody who may activate policies now still could: then nobody could take it back. Every
 * way of holding the right that the present policies know of, by membership or by name, is tried; one that stays is enough.
 */
export const findLockout = (active: Engine, next: Engine): Finding | undefined => {
  const { groups, entities } = active.slice("policies:activate");
  const persons = [...entities].flatMap((entity) => (entity.startsWith("Person::") ? [entity.slice(8)] : []));
  const others = next.slice("policies:activate");
  const named = [...new Set([...groups, ...others.groups])].toSorted();
  const tenants = new Set(["tenant:any", ...tenantsNamed(active), ...tenantsNamed(next)]);
  let holders = 0;
  for (const tenant of tenants) {
    for (const id of ["person:anybody", ...persons]) {
      for (const set of subsetsOf(named)) {
        if (!mayActivate(active, id, set, tenant)) continue;
        holders += 1;
        if (mayActivate(next, id, set, tenant)) return undefined;
      }
    }
  }
  if (holders === 0) return undefined;
  return {
    path: "policies:activate",
    code: LOCKS_OUT,
    message: "denies policies/activate to every person who holds it now: nobody could take it back",
    hint: 'Keep a permit for action == Action::"policies:activate" that somebody who has it today still meets.',
  };
};
