import { hasOtherMounts, mountReaders, ownMounts } from "./compare-mounts.ts";
import { findInstanceSecrets } from "#authn/sealing/instance-secret.ts";
import { issueLine } from "#contract/start-issues.ts";
import { httpPeer } from "#http/peer.ts";
import { readTls } from "#http/tls-files.ts";
import { openTrustingFetch } from "#http/trusting-fetch.ts";
import { readSecretsPolicy } from "#secrets/config.ts";
import { providerKinds, readStores, type providerSettings } from "#secrets/providers/kinds/provider-kinds.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { fault, guarded, ok, warn, type Finding } from "./finding.ts";
import type { StartPlan } from "./start-plan.ts";

/** Whose places are whose: in a process without secrets it must be set, and as the secrets service has it where that answers. */
export const lookAtMounts = async (plan: StartPlan): Promise<readonly Finding[]> => {
  const readers = mountReaders(plan);
  if (readers.length === 0) return [];
  const who = readers.join(" and ");
  const risk = "or a system or a grant could name another tenant's secret";
  if (plan.allowedMounts === undefined)
    return [
      fault("settings", `TENANT_ALLOWED_MOUNTS is not set: ${who} must have it as secrets has, ${risk}. Without any secrets set it to {}.`),
    ];
  const { settings, dataFolder } = plan;
  const place = { given: settings.authn.sessionSecrets, dataFolder, environment: settings.instance.environment };
  // That there is none is reported elsewhere.
  const secrets = await findInstanceSecrets(place).catch(() => undefined);
  if (secrets === undefined) return [];
  const { ca } = await readTls(settings.http);
  await using trusting = openTrustingFetch(ca);
  const url = plan.addresses.services.secrets;
  const peer = httpPeer({ baseUrl: url, timeoutMs: 2000, unavailable: "secrets_unavailable", send: trusting.send });
  if ((await hasOtherMounts(peer, ownMounts(plan, secrets))) !== true) return [];
  const found = "is not what the secrets service has";
  return [
    fault("settings", `TENANT_ALLOWED_MOUNTS ${found} (${url}): ${who} must have the same, ${risk}. Set one value for all processes.`),
  ];
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
