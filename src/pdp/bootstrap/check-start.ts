import { dirname, resolve } from "node:path";
import { isTlsOrLoopback } from "#contract/loopback.ts";
import type { Issue } from "#contract/problem.ts";
import type { SettingsOf } from "#contract/setting.ts";
import { hasTable } from "#store/migrate.ts";
import type { Sql } from "#store/database.ts";
import type { Log } from "#telemetry/log.ts";
import { inspectBundle } from "#pdp/bundle/bundle.ts";
import type { PdpConfig, pdpSettings } from "#pdp/config.ts";
import { ConfigurationRefused, readPdpConfiguration, type PdpConfiguration } from "#pdp/model/configuration-file.ts";
import { readFactsFile } from "#pdp/facts/facts-file.ts";
import { readPoliciesOf } from "#pdp/bundle/policy-files.ts";
import { createCredential } from "#pdp/remote/credential.ts";
import { compileSubjectProperties } from "#pdp/remote/subject-properties.ts";
import { judgeFiles } from "#pdp/lifecycle/rollout/import-bundle.ts";

interface SwitchParts {
  readonly config: Pick<SettingsOf<typeof pdpSettings>, "publicUrl" | "configFile">;
  readonly environment: "dev" | "test" | "production";
}

/** What of the settings and the decision point's file keeps a start from being made with them: every fault. */
const checkSwitches = async (parts: SwitchParts): Promise<{ readonly switches?: PdpConfiguration; readonly issues: readonly Issue[] }> => {
  const { publicUrl, configFile } = parts.config;
  const isProduction = parts.environment === "production";
  const issues: Issue[] = [];
  if (!isTlsOrLoopback(publicUrl) || (isProduction && !publicUrl.startsWith("https:")))
    issues.push({ path: "PDP_PUBLIC_URL", message: "must be https; http is for loopback in dev and test" });
  try {
    const switches = await readPdpConfiguration(configFile);
    if (!switches.enable_authorization && isProduction)
      issues.push({ path: `${configFile}#/enable_authorization`, message: "may be false in dev and test alone" });
    return { switches, issues };
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error;
    return { issues: [...issues, ...error.issues] };
  }
};

/** The decision point's file, and that this start may be made with it. Throws `ConfigurationRefused` with every fault. */
export const readSwitches = async (parts: SwitchParts & { readonly log: Log }): Promise<PdpConfiguration> => {
  const { switches, issues } = await checkSwitches(parts);
  if (switches === undefined || issues.length > 0) throw new ConfigurationRefused(issues);
  if (!switches.enable_authorization)
    parts.log.warn("pdp_authorization_disabled", { detail: "Every decision is a permit. Never run it so where it matters." });
  return switches;
};

export interface CheckedStart {
  readonly issues: readonly Issue[];
  /** What keeps changed policy files from deciding without stopping the start: another version goes on deciding. */
  readonly draftIssues: readonly Issue[];
}

/** Runs a look that throws what it finds; anything that is no list of faults goes on. */
const issuesOf = async (look: () => unknown): Promise<readonly Issue[]> => {
  try {
    await look();
    return [];
  } catch (error) {
    const { issues } = error as { issues?: readonly Issue[] };
    if (issues === undefined) throw error;
    return issues;
  }
};

const remoteIssues = async (
  { decision_point: point }: PdpConfiguration,
  config: SettingsOf<typeof pdpSettings>,
): Promise<readonly Issue[]> => {
  if (point.kind !== "remote") return [];
  return [
    ...(await issuesOf(() => compileSubjectProperties(point.subject_properties, config.configFile))),
    ...(await issuesOf(() => createCredential(point, config, () => new Date()))),
  ];
};

/**
 * Everything that would keep a decision point from starting with these settings and files, beside `database` if there is one
 * already. Changes nothing and asks nobody else. Cost: as `makeReport`, where the policies are not those of the last start.
 */
export const checkPdpStart = async (parts: {
  readonly config: PdpConfig;
  readonly environment: "dev" | "test" | "production";
  readonly database: Sql | undefined;
}): Promise<CheckedStart> => {
  const { config, environment, database } = parts;
  const { switches, issues } = await checkSwitches(parts);
  if (switches === undefined) return { issues, draftIssues: [] };
  const found: Issue[] = [...issues, ...(await remoteIssues(switches, config))];
  let draftIssues: readonly Issue[] = [];
  found.push(
    ...(await issuesOf(async () => {
      const files = await readPoliciesOf(switches.policy_dir, config);
      const kept = database !== undefined && (await hasTable(database, "pdp.pointer")) ? database : undefined;
      const judged = await judgeFiles(kept, files, config.autoActivate ?? environment !== "production");
      if (judged.shouldDecide) found.push(...judged.issues);
      else draftIssues = judged.issues;
      if (switches.facts.kind !== "file") return;
      const { bundle } = inspectBundle(files);
      if (bundle !== undefined) await readFactsFile(resolve(dirname(config.configFile), switches.facts.path), bundle.schema);
    })),
  );
  return { issues: found, draftIssues };
};
