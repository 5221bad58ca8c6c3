import { createPeopleDirectory } from "#demo/people-directory.ts";
import { readDemoSecret, seedDemoSecret } from "#demo/secret.ts";
import { Problem } from "#contract/problem.ts";
import { StartFaults } from "#contract/start-faults.ts";
import { readCertificates } from "#http/pem-files.ts";
import { openTrustingFetch } from "#http/trusting-fetch.ts";
import { createKvClient } from "#secrets/providers/kvv2/kv-client.ts";
import type { KvMemory } from "#secrets/providers/kvv2/kv-session.ts";
import { createKvProvider } from "#secrets/providers/kvv2/kv-provider.ts";
import { kvServersOf, type KvServer } from "#secrets/providers/kvv2/kv-settings.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import type { Scheme } from "#secrets/uri-schemes.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";
import { createSecrets } from "#secrets/service.ts";
import type { Opening } from "./opening.ts";

interface StoresOpening {
  readonly common: Pick<Opening["common"], "metrics" | "now" | "log">;
  readonly stack: Pick<Opening["stack"], "use">;
}

/**
 * A provider for each scheme that a KVv2 server is configured for. Throws `StartFaults` for authorities that cannot be read, and for a
 * wrapped secret id that somebody else has opened.
 */
export const openStores = async (
  { common, stack }: StoresOpening,
  servers: ReadonlyMap<Scheme, KvServer>,
): Promise<readonly SecretProvider[]> => {
  const { metrics, now, log } = common;
  const memories = new Map<KvServer, KvMemory>();
  const opened: SecretProvider[] = [];
  for (const [scheme, server] of servers) {
    const authority = server.caFile === undefined ? undefined : await readCertificates(server.caFile);
    if (authority !== undefined && "fault" in authority)
      throw new StartFaults([{ path: `${server.prefix}_CACERT`, message: authority.fault }]);
    const memory = memories.get(server) ?? {};
    memories.set(server, memory);
    const { send } = stack.use(openTrustingFetch(authority === undefined ? undefined : [authority.text]));
    const client = createKvClient({ server, name: scheme, send, metrics, now, memory });
    // A wrapped secret id that somebody else has opened is an alarm; a store that is away may come.
    if (server.secretIdWrapped !== undefined)
      await client.signIn().catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code !== "provider_denied") return;
        log.error("secrets_wrapped_id_refused", { provider: scheme, cause: error });
        throw new StartFaults([{ path: `${server.prefix}_SECRET_ID_WRAPPED`, message: error.message }]);
      });
    opened.push(createKvProvider({ scheme, client }));
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
  if (demo) await seedDemoSecret(provider);
  await opening.listen(
    "secrets",
    stack.use(
      await createSecrets({
        ...common,
        ...opening.callerOf("secrets"),
        config: opening.secretsConfig,
        servers,
        providers: [provider, ...(await openStores(opening, servers))],
        pdpTimeoutMs: settings.gateway.pdpTimeoutMs,
      }),
    ),
  );
  if (!demo) return;
  // The upstream stands outside the house; it gets its key from the file that both share, never over the wire.
  const directory = createPeopleDirectory({ apiKey: () => readDemoSecret(provider), now, log });
  const people = await directory.listen({ port: plan.addresses.ports.people });
  stack.defer(() => people.close());
};
