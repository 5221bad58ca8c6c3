import { createPeopleDirectory } from "#demo/people-directory.ts";
import { readDemoSecret, seedDemoSecret } from "#demo/secret.ts";
import { findOperatorTenant } from "#membership/graph/operator-tenant.ts";
import { readSecretsPolicy } from "#secrets/config.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { providerKinds, readStores } from "#secrets/providers/kinds/provider-kinds.ts";
import { createSecrets } from "#secrets/service.ts";
import type { Opening } from "./opening.ts";

/** Secrets, and with the demo the people directory that shares one of them. */
export const openSecrets = async (opening: Opening): Promise<void> => {
  const { common, plan, stack } = opening;
  const { settings } = plan;
  const { environment, log, now } = common;
  const { demo } = plan.commandLine;
  const { stores } = readStores(settings, environment);
  const { mounts } = readSecretsPolicy(opening.secretsConfig, environment, stores);
  const parts = {
    settings,
    environment,
    file: plan.secretsFile,
    places: [...mounts.values()].flat(),
    log,
    metrics: common.metrics,
    now,
    stack,
  };
  const providers: SecretProvider[] = [];
  for (const kind of providerKinds) providers.push(...(await kind.open(parts)));
  const file = providers.find(({ schemes }) => schemes.includes("yaml"));
  if (demo && file !== undefined) await seedDemoSecret(file);
  await opening.listen(
    "secrets",
    stack.use(
      await createSecrets({
        ...common,
        ...opening.callerOf("secrets"),
        config: opening.secretsConfig,
        stores,
        providers,
        findOperator: () => findOperatorTenant(common.database),
        pdpTimeoutMs: settings.gateway.pdpTimeoutMs,
      }),
    ),
  );
  if (!demo || file === undefined) return;
  // The upstream is no part of Sallyport; it gets its key from the file that both share, never over the wire.
  const directory = createPeopleDirectory({ apiKey: () => readDemoSecret(file), now, log });
  const people = await directory.listen({ port: plan.addresses.ports.people });
  stack.defer(() => people.close());
};
