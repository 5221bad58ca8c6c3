import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Change } from "#events/change.ts";
import type { Database } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { BundleRefused } from "./bundle/bundle-refused.ts";
import { readPolicyFolder } from "./bundle/policy-files.ts";
import { followPointer, type Follower, type FollowerParts } from "./rollout/follow-pointer.ts";
import { importBundle } from "./rollout/import-bundle.ts";
import { auditOfflineActs } from "./rollout/offline-rollback.ts";

const builtIn = fileURLToPath(new URL("./policies/", import.meta.url));

/** Takes in the policy files of this start, tells of what was done while nothing ran, and follows what decides. */
export const openPolicies = async (parts: {
  readonly database: Database;
  readonly change: Change;
  /** As the configuration file names it, relative to that file; the built-in ones unless given. */
  readonly policyDir: string | undefined;
  readonly configFile: string;
  readonly autoActivate: boolean;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly follow?: Pick<FollowerParts, "pollMs" | "blindMs" | "elapsedMs">;
}): Promise<Follower> => {
  const { log } = parts;
  const folder = parts.policyDir === undefined ? builtIn : resolve(dirname(parts.configFile), parts.policyDir);
  const files = await readPolicyFolder(folder).catch((error: unknown) => {
    if (parts.policyDir === undefined || !(error instanceof BundleRefused)) throw error;
    throw new BundleRefused(error.faults.map((fault) => ({ ...fault, message: `${fault.message} (policy_dir of ${parts.configFile})` })));
  });
  const imported = await importBundle(parts, files, parts.autoActivate);
  const acts = await auditOfflineActs(parts.change);
  const follower = await followPointer({ ...parts, ...parts.follow });
  const { version, engine } = follower.engines.current();
  log.info("pdp_policies", { version, policies: engine.bundle.policies.size });
  if (imported.draft !== undefined)
    log.warn("pdp_policies_not_active", { active: version, draft: imported.draft, faults: imported.faults?.slice(0, 20) });
  if (acts > 0) log.warn("pdp_offline_acts_audited", { acts });
  return follower;
};
