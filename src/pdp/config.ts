import { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import {
  commaList,
  flag,
  integer,
  plainAddresses,
  setting,
  weakSecret,
  type Environment,
  type SettingsOf,
  type SettingTable,
} from "#contract/setting.ts";
import { secretWeakness } from "#contract/weak-secret.ts";

/** Settings of the decision point. */
export const pdpSettings = {
  publicUrl: setting("PDP_PUBLIC_URL", z.url({ protocol: /^https?$/ }), {
    description: "Address that the AuthZEN metadata names. https, or http on loopback in dev and test.",
    default: "http://localhost:8082",
  }),
  configFile: setting("PDP_CONFIG_FILE", z.string().min(1), {
    description: "The decision point's configuration file: switches of authorization, read by the gateway and the tool server too.",
    default: "config/pdp.yaml",
  }),
  morePolicies: setting("PDP_MORE_POLICIES", z.string().min(1).optional(), {
    description:
      "Folder of further policies that go with the shipped ones. With the demo world and unset: demo/policies of the configuration.",
  }),
  autoActivate: setting("PDP_POLICY_AUTOACTIVATE", flag().optional(), {
    description:
      "Whether policy files that changed decide from this start on. Unset: true in dev and test; elsewhere they are kept as a draft.",
  }),
  shadowSample: setting("PDP_SHADOW_SAMPLE", z.coerce.number().min(0).max(1), {
    description: "Share of decisions that a version in shadow decides too, after the answer: 1 all, 0 none.",
    default: "1",
  }),
  answerDetail: setting("PDP_ANSWER_DETAIL", z.enum(["coarse", "none"]), {
    description: "Whether foreign enforcement points get decision id and reason, or the bare decision and its obligations.",
    default: "coarse",
  }),
  internalClients: setting("PDP_INTERNAL_CLIENTS", commaList(), {
    description: "Services of Sallyport that may speak of any tenant, vouch for circumstances and are not limited in rate.",
    default: "gateway,crud,membership,secrets",
  }),
  batchMaxItems: setting("PDP_BATCH_MAX_ITEMS", integer(1, 1000), {
    description: "Most items of one batch.",
    unit: "items",
    default: "1000",
  }),
  searchMaxCandidates: setting("PDP_SEARCH_MAX_CANDIDATES", integer(1, 100_000), {
    description: "Most candidates that one page of a search looks at; the next page goes on behind them.",
    unit: "candidates",
    default: "2000",
  }),
  cacheSeconds: setting("PDP_CACHE_SECONDS", integer(0, 60), {
    description: "How long the answer of the policies to exactly the same question on the same graph is kept; 0 asks them each time.",
    unit: "s",
    default: "60",
  }),
  recordWindowMs: setting("PDP_RECORD_WINDOW_MS", integer(0, 1000), {
    description: "How long a decision record waits for others to share its commit.",
    unit: "ms",
    default: "2",
  }),
  recordTimeoutMs: setting("PDP_RECORD_TIMEOUT_MS", integer(10, 60_000), {
    description: "A decision whose record is not committed by then is refused with 503.",
    unit: "ms",
    default: "2000",
  }),
  recordDays: setting("PDP_RECORD_DAYS", integer(1, 3650), {
    description: "How long decision records are kept.",
    unit: "days",
    default: "90",
  }),
  events: setting("PDP_EVENTS", z.enum(["off", "acts", "all"]), {
    description: "Of which decisions an event is kept for other systems: none, denials and acts, or every one.",
    default: "acts",
  }),
  factsTimeoutMs: setting("PDP_FACTS_TIMEOUT_MS", integer(10, 60_000), {
    description: "How long membership may take to answer with facts.",
    unit: "ms",
    default: "1500",
  }),
  callsPerSecond: setting("PDP_CALLS_PER_SECOND", integer(1, 1_000_000), {
    description: "Calls a second that a foreign enforcement point may make; twice as many at once.",
    unit: "calls",
    default: "2000",
  }),
  remoteToken: setting(
    "PDP_REMOTE_TOKEN",
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, "must be a token")
      .optional(),
    {
      description: "Bearer token for a remote decision point with `auth: bearer_from_env`.",
      secret: true,
    },
  ),
  remoteTokenUrl: setting("PDP_REMOTE_TOKEN_URL", z.url({ protocol: /^https?$/ }).optional(), {
    description: "Token endpoint for a remote decision point with `auth: client_credentials`. https, or http on loopback.",
  }),
  remoteClientId: setting("PDP_REMOTE_CLIENT_ID", z.string().min(1).optional(), {
    description: "Client id at that token endpoint.",
  }),
  remoteClientSecret: setting("PDP_REMOTE_CLIENT_SECRET", z.string().min(1).optional(), {
    description: "Client secret at that token endpoint.",
    secret: true,
  }),
} satisfies SettingTable;

export type PdpConfig = SettingsOf<typeof pdpSettings> & {
  /** Whose secrets may be asked for without a token: in dev and test, and only while the settings of secrets say so. */
  readonly anonymousTenant?: string | undefined;
};

/** What no single row can say. */
export const pdpIssues = (config: SettingsOf<typeof pdpSettings>, environment: Environment): readonly Issue[] => [
  ...plainAddresses({ PDP_REMOTE_TOKEN_URL: config.remoteTokenUrl }, environment),
  ...weakSecret("PDP_REMOTE_TOKEN", config.remoteToken, secretWeakness, environment),
  ...weakSecret("PDP_REMOTE_CLIENT_SECRET", config.remoteClientSecret, secretWeakness, environment),
];
