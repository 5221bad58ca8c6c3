import { createHash } from "node:crypto";
import { listPolicies, policySchema, readPolicy, testPolicies, validatePolicies } from "#contract/policies.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { answer, type Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Bundle } from "#pdp/bundle/bundle.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { readBundleApart, type Examiner } from "#pdp/lifecycle/examine/examiner.ts";
import { policyCase, type PolicyCase } from "#pdp/bundle/case.ts";
import { findNewestDraft } from "#pdp/lifecycle/rollout/version-store.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import type { Serving } from "#pdp/context/serving.ts";

type PolicyEndpoints = Pick<Serving, "guard" | "rollouts" | "examiner" | "engines" | "database" | "sightOf">;

const rowOf = ({ id, file, line, effect, description }: Policy) => ({ id, file, line, effect, description });

const rowsOf = (policies: readonly Policy[], status: "active" | "shadow" | "draft", version: string) =>
  policies.map((policy) => ({ policy, status, version }));

/** Policies of a version that another one does not have, or has otherwise. */
const differing = (bundle: Bundle, from: Bundle): readonly Policy[] =>
  [...bundle.policies.values()].filter((policy) => from.policies.get(policy.id)?.text !== policy.text);

/** The bundle of stored files; `undefined` where they cannot be understood whole, as those of a draft need not be. */
const bundleOf = (examiner: Examiner, files: PolicyFiles): Promise<Bundle | undefined> =>
  readBundleApart(examiner, files, "in turn").catch((error: unknown) => {
    if (error instanceof BundleRefused) return undefined;
    throw error;
  });

const parseCases = (sent: readonly unknown[]): readonly PolicyCase[] => {
  const issues: Issue[] = [];
  const cases = sent.flatMap((one, index) => {
    const read = policyCase.safeParse(one);
    if (read.success) return [read.data];
    issues.push(...issuesOf(read.error, ["cases", index]));
    return [];
  });
  if (issues.length > 0) throw new Problem("invalid_request", { errors: issues });
  return cases;
};

/** Policies as they stand, and files looked at without being stored. Before `{id}`, whose place their words would take. */
export const servePolicies = (router: Router<Caller>, { guard, rollouts, examiner, engines, database, sightOf }: PolicyEndpoints): void => {
  router.serve(policySchema, async (call) => {
    await guard(call, "view");
    const { version, engine } = engines.current();
    const { text, actions } = engine.bundle.schema;
    return {
      version,
      cedar: text,
      actions: [...actions].map(([action, { groups }]) => ({
        action,
        resource_type: action.slice(0, action.indexOf(":")),
        name: action.slice(action.indexOf(":") + 1),
        groups: [...groups].toSorted(),
      })),
    };
  });

  router.serve(validatePolicies, async (call) => {
    await guard(call, "view_all");
    return rollouts.reportOf(await rollouts.filesOf(call.body));
  });

  router.serve(testPolicies, async (call) => {
    await guard(call, "view_all");
    const cases = call.body.cases === undefined ? undefined : parseCases(call.body.cases);
    const tested = await examiner.ask("cases", { files: await rollouts.filesOf(call.body), cases }, "in turn");
    if ("issues" in tested) throw new Problem("policy_invalid", { errors: tested.issues });
    return tested.results;
  });

  router.serve(listPolicies, async (call) => {
    await guard(call, "view");
    const { version, engine, shadow } = engines.current();
    const draft = await findNewestDraft(database);
    const drafted = draft === undefined ? undefined : await bundleOf(examiner, (await rollouts.contentOf(draft.version)).files);
    const active = engine.bundle;
    const all = [
      ...rowsOf([...active.policies.values()], "active", version),
      ...(shadow === undefined ? [] : rowsOf(differing(shadow.engine.bundle, active), "shadow", shadow.version)),
      ...(draft === undefined || drafted === undefined ? [] : rowsOf(differing(drafted, active), "draft", draft.version)),
    ];
    const wanted = all.filter(({ status }) => call.query.status === undefined || status === call.query.status);
    const shown = new Set(await (await sightOf(call.caller)).shown(wanted.map(({ policy }) => policy)));
    return {
      version,
      policies: wanted.flatMap(({ policy, ...row }) => (shown.has(policy) ? [{ ...rowOf(policy), ...row }] : [])),
    };
  });
};

/** One policy by its id; served after every other path below `policies/`. */
export const servePolicy = (router: Router<Caller>, { guard, rollouts, examiner, engines, sightOf }: PolicyEndpoints): void => {
  router.serve(readPolicy, async (call) => {
    await guard(call, "view");
    const current = engines.current();
    const version = call.query.version === undefined ? current.version : (await rollouts.requireVersion(call.query.version)).version;
    const bundle =
      version === current.version ? current.engine.bundle : await bundleOf(examiner, (await rollouts.contentOf(version)).files);
    const found = bundle?.policies.get(call.params.id);
    const [policy] = found === undefined ? [] : await (await sightOf(call.caller)).shown([found]);
    if (policy === undefined) throw new Problem("not_found", { detail: "There is no such policy in this version." });
    const { text, obligations, advice, reason, requestable } = policy;
    return answer(
      {
        ...rowOf(policy),
        version,
        text,
        obligations: [...obligations],
        advice: [...advice],
        reason,
        requestable,
      },
      { headers: { etag: `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"` } },
    );
  });
};
