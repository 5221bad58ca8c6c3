import { searchAction, searchResource, searchSubject } from "#contract/searches.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import { listPolicies, policySchema, readPolicy, testPolicies, validatePolicies } from "#contract/policies.ts";
import { readReplay, replayDecision, startReplay, stopReplay } from "#contract/replay.ts";
import { replayTools } from "#contract/replay-tools.ts";
import * as rollouts from "#contract/rollouts.ts";
import { whatIf } from "#contract/what-if.ts";
import { Problem } from "#contract/problem.ts";
import type { Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { z } from "zod";

/** What AuthZEN's evaluations cannot tell of another decision point; of two paths that both fit, the first is taken. */
const unsupported: readonly Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>[] = [
  searchSubject,
  searchResource,
  searchAction,
  policySchema,
  validatePolicies,
  testPolicies,
  startReplay,
  readReplay,
  stopReplay,
  rollouts.listRollouts,
  rollouts.createRollout,
  rollouts.readRollout,
  rollouts.deleteRollout,
  rollouts.rolloutMatrix,
  rollouts.rolloutDifferences,
  rollouts.promoteRollout,
  rollouts.rollBack,
  listPolicies,
  readPolicy,
  replayDecision,
  replayTools,
  whatIf,
];

/** Operations that only the embedded engine has: behind the same checks, they say that they are not there. */
export const refuseUnsupported = (router: Router<Caller>): void => {
  for (const endpoint of unsupported)
    router.serve(endpoint, async () => {
      throw new Problem("not_supported", { detail: "Another decision point decides here; this is known to the embedded one alone." });
    });
};
