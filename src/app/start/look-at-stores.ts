import { faultLine } from "#contract/start-faults.ts";
import { openKvClients } from "#app/services/open-secrets.ts";
import { formatPrefix } from "#secrets/secret-uri.ts";
import { readSecretsPolicy } from "#secrets/config.ts";
import { kvServersOf } from "#secrets/providers/kvv2/kv-settings.ts";
import type { Scheme } from "#secrets/uri-schemes.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { fault, ok, warn, type Finding } from "./finding.ts";
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
 * The KVv2 servers, as they answer to whoever asks without a token: one that is away may come. What TENANT_ALLOWED_MOUNTS names must be
 * mounts there, and no secret may have two names. Throws `StartFaults` for authorities that cannot be read.
 */
export const lookAtStores = async ({
  settings,
  commandLine,
}: {
  readonly settings: Pick<StartPlan["settings"], "instance" | "secrets" | "vault" | "vaultA" | "vaultB">;
  readonly commandLine: Pick<StartPlan["commandLine"], "serve">;
}): Promise<readonly Finding[]> => {
  const { environment } = settings.instance;
  const { servers } = kvServersOf(settings, environment);
  if (servers.size === 0 || !commandLine.serve.has("secrets")) return [];
  await using stack = new AsyncDisposableStack();
  const clients = await openKvClients({ common: { metrics: createMetrics(), now: () => new Date() }, stack }, servers);
  const { mounts } = readSecretsPolicy(settings.secrets, environment, servers);
  const places = [...mounts.values()].flat();
  const findings: Finding[] = [];
  const stores = new Map<Scheme, string>();
  const look = async (scheme: Scheme, { client, server }: NonNullable<ReturnType<typeof clients.get>>): Promise<void> => {
    const where = `${server.prefix}_URL: ${server.url}`;
    const health = await client.health();
    if (!["up", "standby", "perf_standby"].includes(health)) {
      findings.push(warn("settings", `${where} is ${health} now: its secrets are refused until it is there`));
      return;
    }
    findings.push(ok("settings", where));
    const store = await client.store();
    if (store !== undefined) stores.set(scheme, store);
    const own = places.filter((place) => place.scheme === scheme);
    const namespaces = await client.namespacesAmong([...new Set(own.map(({ mount }) => mount))]);
    for (const place of own.filter(({ mount }) => namespaces.includes(mount)))
      findings.push(
        fault(
          "settings",
          `TENANT_ALLOWED_MOUNTS: "${formatPrefix(place)}": "${place.mount}" is a namespace of ${server.url} and no mount: ` +
            `name the namespace in ${server.prefix}_NAMESPACE, and here a mount of it`,
        ),
      );
  };
  // What does not answer any more is seen as away by whoever asks it next.
  await Promise.all([...clients].map(([scheme, one]) => look(scheme, one).catch(() => undefined)));
  const twice = readSecretsPolicy(settings.secrets, environment, servers, stores).faults.map((one) => fault("settings", faultLine(one)));
  return [...findings, ...twice];
};
