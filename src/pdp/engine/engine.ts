import { setImmediate as nextTurn } from "node:timers/promises";
import type { EntityUidJson, PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
import { Problem } from "#contract/problem.ts";
import type { Bundle } from "#pdp/bundle/bundle.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import type { Schema } from "#pdp/bundle/schema.ts";
import { cedarGeneration, preparsePolicySet, preparseSchema, statefulIsAuthorized } from "#pdp/model/cedar-program.ts";
import { requestOf, type CedarRequest, type PolicySlice } from "./cedar-request.ts";
import { inPieces } from "#pdp/model/in-pieces.ts";
import type { Question } from "#pdp/model/question.ts";

/** What the policies say to one question. */
export interface Judgement {
  readonly permit: boolean;
  /** Those that decided. */
  readonly policies: readonly string[];
  readonly errors: readonly string[];
}

/**
 * Policies that Cedar parses at a time, in some twenty milliseconds: where more can apply to an action it is asked of each set, and
 * the answers are one, for a policy speaks for itself.
 */
const PER_SET = 256;

export interface Engine {
  readonly bundle: Bundle;
  /**
   * Synchronous, a few tenths of a millisecond for each 256 policies of the action. An error in any policy is a denial: Cedar itself would skip the policy,
   * and a forbid that is skipped permits. `omit` leaves policies out, for questions about what would be.
   */
  judge(question: Question, omit?: ReadonlySet<string>): Judgement;
  /** All that Cedar would see of the question. */
  requestOf(question: Question): CedarRequest;
  /** As `judge`, of a question that is already in Cedar's words. */
  judgeRequest(action: string, request: CedarRequest, omit?: ReadonlySet<string>): Judgement;
  slice(action: string): PolicySlice;
  /** Parses what every action needs ahead of the first question. */
  warm(): Promise<void>;
}

/**
 * Instances share one cache of parsed sets inside Cedar, so each has names of its own. Cedar forgets nothing: the names of an
 * instance that nobody holds any more are given to the next one, which overwrites what they named.
 */
const takeName = (() => {
  let made = 0;
  const free: string[] = [];
  const gone = new FinalizationRegistry<string>((name) => void free.push(name));
  /** The name is free again when nothing can reach the slot any more: every function of an engine reads it there. */
  return (): { readonly name: string } => {
    const name = free.pop() ?? `e${(made += 1)}`;
    const slot = { name };
    gone.register(slot, name);
    return slot;
  };
})();

const WARM_SLICE_MS = 8;

/** The policies that can apply to some actions, as Cedar is asked of them. */
interface Split {
  readonly name: string;
  readonly slice: PolicySlice;
  /** One, perhaps of none, at the least. */
  readonly sets: readonly (readonly Policy[])[];
}

const isSame = (some: readonly Policy[], others: readonly Policy[]): boolean =>
  some.length === others.length && some.every((policy, at) => policy === others[at]);

/**
 * Cedar over one bundle. `minimal` (the default) puts before Cedar only the policies of the action and the parents they
 * name; `whole` puts everything, for the test that the answer is the same. What Cedar has parsed is shared by the actions that have it in common.
 */
export const createEngine = (bundle: Bundle, slicing: "minimal" | "whole" = "minimal"): Engine => {
  const wholeSlice = slicing === "whole";
  const slot = takeName();
  const splits: Split[] = [];
  const ofAction = new Map<string, Split>();
  const prepared = new Set<string>();
  const schemas = new Map<ReturnType<Schema["ofAction"]>, string>();
  let generation = 0;
  /** What Cedar was given ahead of a question is given again to one that was loaded since. */
  const prepareProgram = (): void => {
    if (generation === cedarGeneration()) return;
    prepared.clear();
    schemas.clear();
    generation = cedarGeneration();
  };

  const makeSplit = (policies: readonly Policy[]): Split => {
    const union = (pick: (policy: Policy) => ReadonlySet<string>) => new Set(policies.flatMap((policy) => [...pick(policy)]));
    const perSet = wholeSlice ? policies.length : PER_SET;
    const split: Split = {
      name: `${slot.name}/${splits.length}`,
      slice: {
        policies,
        context: union((policy) => policy.reads.context),
        groups: union((policy) => policy.reads.groups),
        entities: union((policy) => policy.reads.entities),
      },
      sets: policies.length === 0 ? [policies] : inPieces(policies, perSet),
    };
    splits.push(split);
    return split;
  };
  const splitOf = (action: string): Split => {
    const held = ofAction.get(action);
    if (held !== undefined) return held;
    const groups = bundle.schema.actions.get(action)?.groups ?? new Set<string>();
    const policies = [...bundle.policies.values()].filter((policy) => wholeSlice || admits(policy.json, action, groups));
    const split = splits.find(({ slice }) => isSame(slice.policies, policies)) ?? makeSplit(policies);
    ofAction.set(action, split);
    return split;
  };
  const slice = (action: string): PolicySlice => splitOf(action).slice;

  /** Name in Cedar of one of the sets of a split without what is left out of it. */
  const prepare = (split: Split, at: number, set: readonly Policy[], omit: ReadonlySet<string>): string => {
    const omitted = omit.size === 0 ? [] : set.filter((policy) => omit.has(policy.id)).map(({ id }) => id);
    const name = `${split.name}/${at}/${omitted.toSorted().join(",")}`;
    if (!prepared.has(name)) {
      const left = set.filter((policy) => !omit.has(policy.id));
      parsed(preparsePolicySet(name, { staticPolicies: Object.fromEntries(left.map((policy) => [policy.id, policy.text])) }));
      prepared.add(name);
    }
    return name;
  };

  const none: ReadonlySet<string> = new Set();
  const toRequest = (question: Question): CedarRequest =>
    requestOf(question, bundle.schema, wholeSlice ? undefined : slice(question.pair.key));
  /** Name in Cedar of the schema that a question of this action is put under. */
  const schemaOf = (action: string): string => {
    const schema = wholeSlice ? bundle.schema.text : bundle.schema.ofAction(action);
    const known = schemas.get(schema);
    if (known !== undefined) return known;
    const name = `${slot.name}/${schemas.size}`;
    parsed(preparseSchema(name, schema));
    schemas.set(schema, name);
    return name;
  };
  const judgeRequest: Engine["judgeRequest"] = (action, request, omit = none) => {
    prepareProgram();
    const permits: string[] = [];
    const forbids: string[] = [];
    const errors: string[] = [];
    const split = splitOf(action);
    for (const [at, set] of split.sets.entries()) {
      const answer = statefulIsAuthorized({
        ...request,
        preparsedSchemaName: schemaOf(action),
        validateRequest: true,
        preparsedPolicySetId: prepare(split, at, set, omit),
      });
      if (answer.type === "failure") throw new Problem("engine_failed", { cause: answer.errors.map((error) => error.message).join("; ") });
      const { decision, diagnostics } = answer.response;
      (decision === "allow" ? permits : forbids).push(...diagnostics.reason);
      errors.push(...diagnostics.errors.map((error) => error.policyId));
    }
    // As Cedar has it: one forbid outdoes every permit, and is then all that decides.
    const isForbidden = forbids.length > 0;
    return {
      permit: permits.length > 0 && !isForbidden && errors.length === 0,
      policies: (isForbidden ? forbids : permits).toSorted(),
      errors: errors.toSorted(),
    };
  };
  const judge: Engine["judge"] = (question, omit) => judgeRequest(question.pair.key, toRequest(question), omit);
  const warm = async (): Promise<void> => {
    let started = performance.now();
    for (const action of bundle.schema.actions.keys()) {
      const split = splitOf(action);
      for (const [at, set] of split.sets.entries()) {
        prepareProgram();
        prepare(split, at, set, none);
        schemaOf(action);
        if (performance.now() - started < WARM_SLICE_MS) continue;
        await nextTurn();
        started = performance.now();
      }
    }
  };
  return { bundle, judge, requestOf: toRequest, judgeRequest, slice, warm };
};

const shared = new WeakMap<Bundle, Engine>();

/** The engine of a bundle, one for all who ask: what Cedar has parsed for one of them serves the others. */
export const sharedEngine = (bundle: Bundle): Engine => {
  const engine = shared.get(bundle) ?? createEngine(bundle);
  shared.set(bundle, engine);
  return engine;
};

const parsed = (answer: { readonly type: string }): void => {
  if (answer.type !== "success") throw new Problem("engine_failed", { cause: answer });
};

const idOf = (entity: EntityUidJson): string => ("__entity" in entity ? entity.__entity.id : entity.id);

/** The action scope of a policy admits this action: by name, or by one of its groups. */
const admits = ({ action: scope }: PolicyJson, action: string, groups: ReadonlySet<string>): boolean => {
  if (scope.op === "All") return true;
  if (scope.op === "==") return "entity" in scope && idOf(scope.entity) === action;
  const named = "entities" in scope ? scope.entities : [scope.entity];
  return named.some((entity) => idOf(entity) === action || groups.has(idOf(entity)));
};
