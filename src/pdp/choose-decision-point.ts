import type { SettingsOf } from "#contract/setting.ts";
import type { Log } from "#telemetry/log.ts";
import { createDecisionCache } from "./decision-cache.ts";
import { createCedar, type CedarParts } from "./cedar.ts";
import type { pdpSettings } from "./config.ts";
import type { PdpConfiguration } from "./configuration-file.ts";
import type { DecisionPoint } from "./decision-point.ts";
import { createRemote } from "./remote/remote-point.ts";

export interface ChoiceParts extends Required<Omit<CedarParts, "cache">> {
  readonly switches: Pick<PdpConfiguration, "decision_point">;
  readonly config: SettingsOf<typeof pdpSettings>;
  readonly log: Log;
}

/** Who decides, by the decision point's file: the engine of this house, or any AuthZEN server. Throws `ConfigurationRefused`. */
export const chooseDecisionPoint = async (parts: ChoiceParts): Promise<DecisionPoint> => {
  const { switches, config, engines, facts, decisions, approvals, vocabulary, metrics, log, now } = parts;
  const { decision_point: choice } = switches;
  if (choice.kind === "remote")
    return createRemote({
      remote: choice,
      configFile: config.configFile,
      secrets: config,
      facts,
      decisions,
      vocabulary,
      isInAgentReach: (pair) => engines.current().engine.bundle.schema.actions.get(pair)?.groups.has("agent_reach") === true,
      metrics,
      log,
      now,
    });
  const cache = config.cacheSeconds === 0 ? undefined : createDecisionCache({ seconds: config.cacheSeconds, now });
  return createCedar({ engines, ...(cache === undefined ? {} : { cache }), facts, decisions, approvals, vocabulary, metrics, now });
};
