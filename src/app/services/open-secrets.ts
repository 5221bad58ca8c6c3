import { createPeopleDirectory } from "#demo/people-directory.ts";
import { readDemoSecret, seedDemoSecret } from "#demo/secret.ts";
import { Problem } from "#contract/problem.ts";
import { StartFaults } from "#contract/start-faults.ts";
import { readCertificates } from "#http/pem-files.ts";
import { openTrustingFetch } from "#http/trusting-fetch.ts";
import { createKvClient, type KvClient } from "#secrets/providers/kvv2/kv-client.ts";
import type { KvMemory } from "#secrets/providers/kvv2/kv-session.ts";
import { createKvProvider, type FoundMounts } from "#secrets/providers/kvv2/kv-provider.ts";
import { kvServersOf, type KvServer } from "#secrets/providers/kvv2/kv-settings.ts";
import { findOperatorTenant } from "#membership/graph/operator-tenant.ts";
import { readSecretsPolicy } from "#secrets/config.ts";
import type { SecretPrefix } from "#secrets/secret-uri.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import type { Scheme } from "#secrets/uri-schemes.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";
import { createSecrets } from "#secrets/service.ts";
import type { Opening } from "./opening.ts";

interface ClientsOpening {
  readonly common: Pick<Opening["common"], "metrics" | "now">;
  readonly stack: Pick<Opening["stack"], "use">;
}
interface StoresOpening extends ClientsOpening {
  readonly common: Pick<Opening["common"], "metrics" | "now" | "log">;
}

/** A client for each scheme that a KVv2 server is configured for; none has asked for anything. Throws `StartFaults` for authorities that cannot be read. */
export const openKvClients = async (
  { common, stack }: ClientsOpening,
  servers: ReadonlyMap<Scheme, KvServer>,
): Promise<ReadonlyMap<Scheme, { readonly server: KvServer; readonly client: KvClient }>> => {
  const memories = new Map<KvServer, KvMemory>();
  const opened = new Map<Scheme, { server: KvServer; client: KvClient }>();
  for (const [scheme, server] of servers) {
    const authority = server.caFile === undefined ? undefined : await readCertificates(server.caFile);
    if (authority !== undefined && "fault" in authority)
      throw new StartFaults([{ path: `${server.prefix}_CACERT`, message: authority.fault }]);
    const memory = memories.get(server) ?? {};
    memories.set(server, memory);
    const { send } = stack.use(openTrustingFetch(authority === undefined ? undefined : [authority.text]));
    opened.set(scheme, {
      server,
      client: createKvClient({ metrics: common.metrics, now: common.now, server, name: scheme, send, memory }),
    });
  }
  return opened;
};

/**
 * A provider for each scheme that a KVv2 server is configured for. Throws `StartFaults` for authorities that cannot be read, and for a
 * wrapped secret id that somebody else has opened.
 */
export const openStores = async (
  opening: StoresOpening,
  servers: ReadonlyMap<Scheme, KvServer>,
  places: readonly SecretPrefix[] = [],
): Promise<readonly SecretProvider[]> => {
  const found: FoundMounts = new Map();
  const opened: SecretProvider[] = [];
  for (const [scheme, { server, client }] of await openKvClients(opening, servers)) {
    // A wrapped secret id that somebody else has opened is an alarm; a store that is away may come.
    if (server.secretIdWrapped !== undefined)
      await client.signIn().catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code !== "provider_denied") return;
        opening.common.log.error("secrets_wrapped_id_refused", { provider: scheme, cause: error });
        throw new StartFaults([{ path: `${server.prefix}_SECRET_ID_WRAPPED`, message: error.message }]);
      });
    opened.push(createKvProvider({ scheme, client, found, places: places.filter((place) => place.scheme === scheme) }));
  }
  return opened;
};

/** Secrets, and with the demo the people directory that shares one of them. */
export const openSecrets = async (opening: Opening): Promise<void> => {
  const { common, plan, stack } = opening;
  const { settings } = plan;
  const { environment, log, now } = common;
  const { demo } = plan.commandLine;
  const provider = await createYamlProvider({
    path: plan.secretsFile,
    environment,
    log,
    now,
  });
  const { servers } = kvServersOf(settings, environment);
  const { mounts } = readSecretsPolicy(opening.secretsConfig, environment, servers);
  if (demo) await seedDemoSecret(provider);
  await opening.listen(
    "secrets",
    stack.use(
      await createSecrets({
        ...common,
        ...opening.callerOf("secrets"),
        config: opening.secretsConfig,
        servers,
        providers: [provider, ...(await openStores(opening, servers, [...mounts.values()].flat()))],
        findOperator: () => findOperatorTenant(common.database),
        pdpTimeoutMs: settings.gateway.pdpTimeoutMs,
      }),
    ),
  );
  if (!demo) return;
  // The upstream stands outside Sallyport; it gets its key from the file that both share, never over the wire.
  const directory = createPeopleDirectory({ apiKey: () => readDemoSecret(provider), now, log });
  const people = await directory.listen({ port: plan.addresses.ports.people });
  stack.defer(() => people.close());
};
