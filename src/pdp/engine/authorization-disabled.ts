import { isLast } from "#pdp-client/point-answers.ts";
import type { DecisionPoint, Verdict } from "./decision-point.ts";

/**
 * Everything permitted, for trying things out in dev and test. Who asks is still settled, tenants stay walled and data stays
 * scoped; records name the policy `authorization-disabled`.
 */
export const createDisabled = (inner: DecisionPoint): DecisionPoint => {
  const opened = (verdict: Verdict): Verdict => {
    if (verdict.reason === "subject_unresolved" || verdict.reason === "resource_unresolved") return verdict;
    const { reason: _reason, request: _request, approval: _approval, ...rest } = verdict;
    const scope = verdict.facts?.data_scope;
    return {
      ...rest,
      decision: true,
      policies: ["authorization-disabled"],
      requestable: false,
      obligations: scope === undefined ? [] : [{ id: "data-scope", type: "custom", properties: { kind: "data_scope", ...scope } }],
    };
  };
  return {
    ...inner,
    evaluateMany: async (asks, semantic) => {
      const decided = await inner.evaluateMany(asks, "execute_all");
      const verdicts = decided.verdicts.map(opened);
      const end = verdicts.findIndex((verdict) => isLast(semantic, verdict));
      return { ...decided, verdicts: end === -1 ? verdicts : verdicts.slice(0, end + 1) };
    },
  };
};
