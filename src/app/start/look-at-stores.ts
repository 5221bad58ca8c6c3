import { issueLine } from "#contract/start-issues.ts";
import { readSecretsPolicy } from "#secrets/config.ts";
import { providerKinds, readStores, type providerSettings } from "#secrets/providers/kinds/provider-kinds.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { fault, guarded, ok, warn, type Finding } from "./finding.ts";
import type { StartPlan } from "./start-plan.ts";

/** Whose places are whose is known to the services that take names of secrets, too: in a process of their own they read it for themselves. */
export const lookAtMounts = ({ settings, commandLine: { serve, demo } }: StartPlan): readonly Finding[] => {
  const { allowedMounts, tenantId } = settings.secrets;
  const isKnown = serve.has("secrets") || allowedMounts !== undefined || (demo && tenantId === undefined);
  const readers = (["crud", "membership"] as const).filter((part) => serve.has(part));
  if (isKnown || readers.length === 0) return [];
  const why = `is not set: ${readers.join(" and ")} must have it as secrets has, or a system or a grant could name another tenant's secret`;
  return [fault("settings", `TENANT_ALLOWED_MOUNTS ${why}. Without any secrets set it to {}.`)];
};

/**
 * What each provider of secrets needs; none of their tokens is used. No secret may have two names, by what the stores report of themselves.
 * `file`: where the secrets file is, unless its folder cannot be used.
 */
export const lookAtStores = async (
  {
    settings,
    commandLine,
  }: {
    readonly settings: Pick<StartPlan["settings"], "instance" | "secrets" | keyof typeof providerSettings>;
    readonly commandLine: Pick<StartPlan["commandLine"], "serve">;
  },
  file?: string,
): Promise<readonly Finding[]> => {
  if (!commandLine.serve.has("secrets")) return [];
  const { environment } = settings.instance;
  const { stores } = readStores(settings, environment);
  const { mounts } = readSecretsPolicy(settings.secrets, environment, stores);
  const parts = { settings, environment, file, places: [...mounts.values()].flat(), metrics: createMetrics(), now: () => new Date() };
  const recognised = new Map(stores);
  const look = async (kind: (typeof providerKinds)[number]): Promise<readonly Finding[]> => {
    const found = await kind.check(parts);
    for (const [scheme, store] of found.stores) recognised.set(scheme, store);
    return found.findings.map(({ area, status, text }) => ({ ok, warn, fault })[status](area, text));
  };
  const findings = await Promise.all(providerKinds.map((kind) => guarded("settings", () => look(kind))));
  const twice = readSecretsPolicy(settings.secrets, environment, recognised).issues.map((one) => fault("settings", issueLine(one)));
  return [...findings.flat(), ...(stores.size === 0 ? [] : twice)];
};
