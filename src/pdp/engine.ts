import { setImmediate as nextTurn } from "node:timers/promises";
import type { EntityUidJson, PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";
import { Problem } from "#contract/problem.ts";
import type { Bundle } from "./bundle/bundle.ts";
import type { Policy } from "./bundle/policies.ts";
import { cedarGeneration, preparsePolicySet, preparseSchema, statefulIsAuthorized } from "./cedar-program.ts";
import { requestOf, type CedarRequest } from "./cedar-request.ts";
import type { Question } from "./question.ts";

/** What the policies say to one question. */
export interface Judgement {
  readonly permit: boolean;
  /** Those that decided. */
  readonly policies: readonly string[];
  readonly errors: readonly string[];
}

/** The policies that can apply to one action, and what they read. */
export interface PolicySlice {
  readonly policies: readonly Policy[];
  readonly context: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly entities: ReadonlySet<string>;
}

export interface Engine {
  readonly bundle: Bundle;
  /**
   * Synchronous, a few tenths of a millisecond. An error in any policy is a denial: Cedar itself would skip the policy,
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

/**
 * Cedar over one bundle. `minimal` (the default) puts before Cedar only the policies of the action and the parents they
 * name; `whole` puts everything, for the test that the answer is the same.
 */
export const createEngine = (bundle: Bundle, slicing: "minimal" | "whole" = "minimal"): Engine => {
  const slot = takeName();
  const slices = new Map<string, PolicySlice>();
  const prepared = new Set<string>();
  const schemas = new Set<string>();
  let generation = 0;
  /** What Cedar was given ahead of a question is given again to one that was loaded since. */
  const prepareProgram = (): void => {
    if (generation === cedarGeneration()) return;
    prepared.clear();
    schemas.clear();
    parsed(preparseSchema(slot.name, bundle.schema.text));
    generation = cedarGeneration();
  };
  prepareProgram();

  const slice = (action: string): PolicySlice => {
    const held = slices.get(action);
    if (held !== undefined) return held;
    const groups = bundle.schema.actions.get(action)?.groups ?? new Set<string>();
    const policies = [...bundle.policies.values()].filter((policy) => slicing === "whole" || admits(policy.json, action, groups));
    const union = (pick: (policy: Policy) => ReadonlySet<string>) => new Set(policies.flatMap((policy) => [...pick(policy)]));
    const made: PolicySlice = {
      policies,
      context: union((policy) => policy.reads.context),
      groups: union((policy) => policy.reads.groups),
      entities: union((policy) => policy.reads.entities),
    };
    slices.set(action, made);
    return made;
  };

  const prepare = (action: string, omit: ReadonlySet<string>): string => {
    const left = slice(action).policies.filter((policy) => !omit.has(policy.id));
    const name = `${slot.name}/${action}/${[...omit].toSorted().join(",")}`;
    if (!prepared.has(name)) {
      parsed(preparsePolicySet(name, { staticPolicies: Object.fromEntries(left.map((policy) => [policy.id, policy.text])) }));
      prepared.add(name);
    }
    return name;
  };

  const none: ReadonlySet<string> = new Set();
  const wholeSlice = slicing === "whole";
  const toRequest = (question: Question): CedarRequest =>
    requestOf(question, bundle.schema, wholeSlice ? undefined : slice(question.pair.key));
  const schemaOf = (action: string): string => {
    if (wholeSlice) return slot.name;
    const name = `${slot.name}/${action}`;
    if (!schemas.has(name)) {
      parsed(preparseSchema(name, bundle.schema.ofAction(action)));
      schemas.add(name);
    }
    return name;
  };
  const judgeRequest: Engine["judgeRequest"] = (action, request, omit = none) => {
    prepareProgram();
    const answer = statefulIsAuthorized({
      ...request,
      preparsedSchemaName: schemaOf(action),
      validateRequest: true,
      preparsedPolicySetId: prepare(action, omit),
    });
    if (answer.type === "failure") throw new Problem("engine_failed", { cause: answer.errors.map((error) => error.message).join("; ") });
    const { decision, diagnostics } = answer.response;
    const errors = diagnostics.errors.map((error) => error.policyId).toSorted();
    return { permit: decision === "allow" && errors.length === 0, policies: diagnostics.reason.toSorted(), errors };
  };
  const judge: Engine["judge"] = (question, omit) => judgeRequest(question.pair.key, toRequest(question), omit);
  const warm = async (): Promise<void> => {
    let started = performance.now();
    for (const action of bundle.schema.actions.keys()) {
      prepareProgram();
      prepare(action, none);
      schemaOf(action);
      if (performance.now() - started < WARM_SLICE_MS) continue;
      await nextTurn();
      started = performance.now();
    }
  };
  return { bundle, judge, requestOf: toRequest, judgeRequest, slice, warm };
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
