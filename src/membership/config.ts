import { z } from "zod";
import { commaList, flag, integer, setting, type SettingTable } from "#contract/setting.ts";
import { readFirstAdministrator, type FirstAdministrator } from "./sign-ins/first-administrator.ts";
import { nodeLabels } from "./model/kinds.ts";

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
  bootstrapAdmin: setting(
    "BOOTSTRAP_ADMIN",
    z
      .string()
      .optional()
      .transform((text, context) => {
        if (text === undefined) return undefined;
        const [issuer, subject, tenant, ...more] = text.split("|");
        const read = readFirstAdministrator({ issuer, subject, tenant });
        if ("first" in read && more.length === 0) return read.first;
        context.addIssue({ code: "custom", message: "must be issuer|subject|tenant" });
        return undefined;
      }) as unknown as z.ZodType<FirstAdministrator | undefined>,
    {
      description:
        "First administrator of a deployment that has no tenant yet, as issuer|subject|tenant: makes the tenant, the person, the link and both roles, as `npm run admin -- first` does. Once there was one it is ignored, with a log line.",
    },
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
  delegationAllowEndless: setting("DELEGATION_ALLOW_ENDLESS", flag(), {
    description: "Whether a delegation may be given without an end (`expires_at: null`).",
    default: "false",
  }),
  delegationMaxDepth: setting("DELEGATION_MAX_DEPTH", integer(1, 3), {
    description: "How many delegations one below the other there may be: 1 = no agent hands on what it holds.",
    default: "3",
  }),
  delegationSweepMs: setting("DELEGATION_SWEEP_MS", integer(100, 3_600_000), {
    description:
      "How often ended delegations are written down as such and abandoned reservations are charged. Answers do not wait for it: they go by the clock.",
    unit: "ms",
    default: "5000",
  }),
  graphLogDays: setting("GRAPH_LOG_DAYS", integer(1, 36_500), {
    description: "How long the log of changes of the graph is kept. The last word about each node and edge is kept for ever.",
    unit: "days",
    default: "400",
  }),
  reader: setting("MEMBERSHIP_READER", z.enum(["auto", "sql"]), {
    description:
      "Who answers the questions of decisions: the graph in memory while it is known to be fresh, else the database (`auto`), or the database alone.",
    default: "auto",
  }),
  graphPollMs: setting("GRAPH_POLL_MS", integer(10, 10_000), {
    description: "How often the graph in memory looks for changes of other processes while it is asked. Hints make it sooner.",
    unit: "ms",
    default: "100",
  }),
  graphStalenessBoundMs: setting("GRAPH_STALENESS_BOUND_MS", integer(50, 60_000), {
    description: "How old that look may be: beyond it the database answers. No answer is ever more out of date than this.",
    unit: "ms",
    default: "500",
  }),
  importMaxBytes: setting("IMPORT_MAX_BYTES", integer(1024, 1_073_741_824), {
    description: "Largest file that may be imported through the service. `npm run graph -- import` reads files of any size.",
    unit: "bytes",
    default: "268435456",
  }),
  dataScopeUnknownType: setting("DATA_SCOPE_UNKNOWN_TYPE", z.enum(["tenants", "deny"]), {
    description: "Rows of a resource type that has no data scope rule: those of the subject's tenants, or none.",
    default: "tenants",
  }),
} satisfies SettingTable;
