import { z } from "zod";
import { commaList, integer, setting, type SettingTable } from "#contract/setting.ts";
import { nodeLabels } from "./graph/kinds.ts";

/** Settings of membership. */
export const membershipSettings = {
  searchLabels: setting(
    "MEMBERSHIP_SEARCH_LABELS",
    commaList().refine(
      (labels) => labels.length > 0 && labels.every((label) => nodeLabels.includes(label)),
      `must be of ${nodeLabels.join(", ")}`,
    ),
    { description: "Kinds that an identity search without node_type looks among.", default: "Identity,Group,BusinessRole,Location" },
  ),
  delegationMaxSteps: setting("DELEGATION_MAX_STEPS", integer(1, 100_000), {
    description: "Most calls that one delegation may allow.",
    unit: "calls",
    default: "100000",
  }),
  delegationMaxUsd: setting("DELEGATION_MAX_USD", integer(0, 10_000), {
    description: "Most money that one delegation may hold.",
    unit: "USD",
    default: "10000",
  }),
  delegationMaxDays: setting("DELEGATION_MAX_DAYS", integer(1, 3650), {
    description: "Longest time that a delegation may last. Without an end given it lasts 30 days, or this if it is less.",
    unit: "days",
    default: "365",
  }),
  delegationSweepMs: setting("DELEGATION_SWEEP_MS", integer(100, 3_600_000), {
    description:
      "How often ended delegations are written down as such and abandoned reservations are charged. Answers do not wait for it: they go by the clock.",
    unit: "ms",
    default: "5000",
  }),
  dataScopeUnknownType: setting("DATA_SCOPE_UNKNOWN_TYPE", z.enum(["tenants", "deny"]), {
    description: "Rows of a resource type that has no data scope rule: those of the subject's tenants, or none.",
    default: "tenants",
  }),
} satisfies SettingTable;
