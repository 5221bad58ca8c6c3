import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { pageCursor, plainText, queryIntegerOr, timestamp } from "./ids.ts";
import {
  examinedRefusals,
  mayActivate,
  mayEdit,
  mayViewAll,
  POLICIES,
  policyFileChanges,
  policyRefusals,
  policyReport,
  policyVersion,
} from "./policies.ts";
import { differenceClass } from "./replay.ts";

/**
 * Policies as governed versions: what is drafted, what a draft would change, and how a version comes to decide and is taken
 * back.
 */

export const rolloutState = z.enum(["draft", "shadow", "active", "retired"]);
export type RolloutState = z.infer<typeof rolloutState>;

export const rollout = z.object({
  version: z.string(),
  state: rolloutState,
  digest: z.string(),
  message: z.string(),
  created_by: z.string(),
  created_at: timestamp,
  activated_at: timestamp.optional(),
});
export type Rollout = z.infer<typeof rollout>;

/** One changed cell of the matrix. Cells: Y allowed, S after a strong sign-in, R after an approval, - denied. */
export const matrixChange = z.object({
  row: z.string(),
  column: z.string(),
  before: z.string(),
  after: z.string(),
  /** Policies that decide the cell in the new version. */
  policies: z.array(z.string()),
});
export const matrixDifference = z.object({
  version: z.string(),
  against: z.string(),
  /** To be named by who activates: it says that this difference was seen. */
  digest: z.string(),
  changed: z.array(matrixChange),
});
export type MatrixDifference = z.infer<typeof matrixDifference>;

const version = z.object({ version: policyVersion });

export const listRollouts = endpoint("pdp", "GET", `${POLICIES}/rollouts`, {
  query: z.strictObject({
    state: rolloutState.optional(),
    limit: queryIntegerOr(50, 1, 200),
    cursor: pageCursor.optional(),
  }),
  reply: z.object({ rollouts: z.array(rollout), nextCursor: z.string().optional() }),
  ...mayViewAll,
  problems: [...policyRefusals, "invalid_cursor"],
  summary: "Versions, newest first. The ETag names the state of the rollout, for If-Match.",
});

export const createRollout = endpoint("pdp", "POST", `${POLICIES}/rollouts`, {
  body: z.strictObject({
    /** Whose files are changed; the version that decides unless given. */
    from_version: policyVersion.optional(),
    files: policyFileChanges,
    message: plainText(1, 500),
  }),
  reply: z.object({ rollout, report: policyReport }),
  status: 201,
  ...mayEdit,
  problems: [...examinedRefusals, "not_found", "already_exists", "too_large", "stale_version"],
  summary: "Store a draft with its report; it may be faulty, and decides nothing.",
});

export const readRollout = endpoint("pdp", "GET", `${POLICIES}/rollouts/{version}`, {
  params: version,
  reply: rollout.extend({ files: z.record(z.string(), z.string()), report: policyReport }),
  ...mayViewAll,
  problems: [...policyRefusals, "not_found"],
  summary: "A version with its files and its report.",
});

export const deleteRollout = endpoint("pdp", "DELETE", `${POLICIES}/rollouts/{version}`, {
  params: version,
  reply: z.undefined(),
  status: 204,
  ...mayEdit,
  problems: [...policyRefusals, "not_found", "not_a_draft", "stale_version"],
  summary: "Drop a draft.",
});

export const rolloutMatrix = endpoint("pdp", "GET", `${POLICIES}/rollouts/{version}/matrix`, {
  params: version,
  /** `active`, or another version. */
  query: z.strictObject({ against: z.literal("active").or(policyVersion).default("active") }),
  reply: matrixDifference,
  ...mayViewAll,
  problems: [...examinedRefusals, "not_found", "policy_invalid"],
  summary: "Cells of the matrix that a version changes.",
});

export const rolloutDifferences = endpoint("pdp", "GET", `${POLICIES}/rollouts/{version}/differences`, {
  params: version,
  reply: z.object({
    version: z.string(),
    /** Decisions that the version was asked beside the active one, of all tenants. */
    evaluated: z.number().int(),
    dropped: z.number().int(),
    different: z.number().int(),
    /** Of the caller's tenant. */
    classes: z.array(differenceClass),
  }),
  ...mayViewAll,
  problems: [...policyRefusals, "not_found"],
  summary: "What a version in shadow decided differently from the active one.",
});

export const promoteRollout = endpoint("pdp", "POST", `${POLICIES}/rollouts/{version}/promote`, {
  params: version,
  body: z.strictObject({
    /** `draft` takes a version out of the shadow. */
    to: z.enum(["draft", "shadow", "active"]),
    /** Digest of the matrix difference that was shown; needed for `active`. */
    acknowledged_diff: z.string().max(128).optional(),
  }),
  reply: rollout,
  ...mayActivate,
  problems: [...examinedRefusals, "not_found", "conflict", "policy_invalid", "cases_failed", "matrix_not_acknowledged", "stale_version"],
  summary: "Let a version decide in the shadow, or decide.",
});

export const rollBack = endpoint("pdp", "POST", `${POLICIES}/rollouts/{version}/rollback`, {
  params: z.object({ version: policyVersion.or(z.literal("last")) }),
  body: z.strictObject({ message: plainText(1, 500).optional() }).optional(),
  reply: rollout,
  ...mayActivate,
  problems: [...examinedRefusals, "not_found", "conflict", "policy_invalid", "stale_version"],
  summary: "Let a retired version decide again, at once; `last` is the one that decided before.",
});
