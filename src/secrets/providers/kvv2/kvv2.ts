import { Problem } from "#contract/problem.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { readCertificates } from "#http/pem-files.ts";
import { openTrustingFetch } from "#http/trusting-fetch.ts";
import { formatPrefix } from "#secrets/model/secret-uri.ts";
import type { ProviderFinding, ProviderKind, ProviderOpening } from "#secrets/providers/provider-kind.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { createKvClient, type KvClient } from "./kv-client.ts";
import { createKvProvider, type FoundMounts } from "./kv-provider.ts";
import type { KvMemory } from "./kv-session.ts";
import { kvServersOf, kvSettings, placeOf, type KvConfigs, type KvServer } from "./kv-settings.ts";

type Opened = readonly [scheme: Scheme, server: KvServer, client: KvClient];

/** A client for each scheme that a server is configured for; none has sent anything. Throws `StartIssues` for authorities that cannot be read. */
const openClients = async ({
  settings,
  environment,
  metrics,
  now,
  stack,
}: Pick<ProviderOpening<KvConfigs>, "settings" | "environment" | "metrics" | "now" | "stack">): Promise<readonly Opened[]> => {
  const memories = new Map<KvServer, KvMemory>();
  const opened: Opened[] = [];
  for (const [scheme, server] of kvServersOf(settings, environment).servers) {
    const authority = server.caFile === undefined ? undefined : await readCertificates(server.caFile);
    if (authority !== undefined && "issue" in authority)
      throw new StartIssues([{ path: `${server.prefix}_CACERT`, message: authority.issue }]);
    const memory = memories.get(server) ?? {};
    memories.set(server, memory);
    const { send } = stack.use(openTrustingFetch(authority === undefined ? undefined : [authority.text]));
    opened.push([scheme, server, createKvClient({ metrics, now, server, name: scheme, send, memory })]);
  }
  return opened;
};

/** KVv2 servers, OpenBao or Vault: one for both schemes, or one each. */
export const kvv2 = {
  settings: { vault: kvSettings("VAULT"), vaultA: kvSettings("VAULTA"), vaultB: kvSettings("VAULTB") },
  read: (settings, environment) => {
    const { servers, issues } = kvServersOf(settings, environment);
    return { stores: new Map([...servers].map(([scheme, server]) => [scheme, placeOf(server)])), issues };
  },
  // No token is used: a server that is away may come, and what TENANT_ALLOWED_MOUNTS names must be mounts there.
  check: async ({ places, ...checking }) => {
    await using stack = new AsyncDisposableStack();
    const findings: ProviderFinding[] = [];
    const stores = new Map<Scheme, string>();
    const report = (status: ProviderFinding["status"], text: string): void => void findings.push({ area: "settings", status, text });
    const look = async ([scheme, server, client]: Opened): Promise<void> => {
      const where = `${server.prefix}_URL: ${server.url}`;
      const health = await client.health();
      if (!["up", "standby", "perf_standby"].includes(health))
        return report("warn", `${where} is ${health} now: its secrets are refused until it is there`);
      report("ok", where);
      const store = await client.store();
      if (store !== undefined) stores.set(scheme, store);
      const own = places.filter((place) => place.scheme === scheme);
      const namespaces = await client.namespacesAmong([...new Set(own.map(({ mount }) => mount))]);
      for (const place of own.filter(({ mount }) => namespaces.includes(mount)))
        report(
          "fault",
          `TENANT_ALLOWED_MOUNTS: "${formatPrefix(place)}": "${place.mount}" is a namespace of ${server.url} and no mount: ` +
            `name the namespace in ${server.prefix}_NAMESPACE, and here a mount of it`,
        );
    };
    // A server that stops answering in between counts as away at its next use.
    await Promise.all((await openClients({ ...checking, stack })).map((one) => look(one).catch(() => undefined)));
    return { findings, stores };
  },
  // A wrapped secret id that another client opened stops the start; a store that is away does not.
  open: async ({ places, ...opening }) => {
    const found: FoundMounts = new Map();
    const opened: SecretProvider[] = [];
    for (const [scheme, server, client] of await openClients(opening)) {
      if (server.secretIdWrapped !== undefined)
        await client.signIn().catch((error: unknown) => {
          if (!(error instanceof Problem) || error.code !== "provider_denied") return;
          opening.log.error("secrets_wrapped_id_refused", { provider: scheme, cause: error });
          throw new StartIssues([{ path: `${server.prefix}_SECRET_ID_WRAPPED`, message: error.message }]);
        });
      opened.push(createKvProvider({ scheme, client, found, places: places.filter((place) => place.scheme === scheme) }));
    }
    return opened;
  },
} as const satisfies ProviderKind<KvConfigs>;
