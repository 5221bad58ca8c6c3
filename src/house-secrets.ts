import { join } from "node:path";
import { createPeopleDirectory } from "#demo/people-directory.ts";
import { demoAllowedMounts, readDemoSecret, seedDemoSecret } from "#secrets/demo-secret.ts";
import { createYamlProvider } from "#secrets/providers/yaml/yaml-provider.ts";
import { createSecrets } from "#secrets/service.ts";
import type { Opening } from "./house-opening.ts";

/** Secrets, and with the demo the people directory that shares one of them. */
export const openSecrets = async (opening: Opening): Promise<void> => {
  const { common, settings, stack } = opening;
  const { environment, log, now } = common;
  const { demo } = opening.commandLine;
  const provider = await createYamlProvider({
    path: settings.secrets.filePath ?? join(opening.dataFolder, "secrets.yaml"),
    environment,
    log,
    now,
  });
  const allowedMounts = settings.secrets.allowedMounts ?? (demo && settings.secrets.tenantId === undefined ? demoAllowedMounts : undefined);
  if (demo) await seedDemoSecret(provider);
  await opening.listen(
    "secrets",
    stack.use(
      await createSecrets({
        ...common,
        ...opening.identityOf("secrets"),
        config: { ...settings.secrets, allowedMounts },
        providers: [provider],
        pdpTimeoutMs: opening.pdpTimeoutMs,
      }),
    ),
  );
  if (!demo) return;
  // The upstream stands outside the house; it gets its key from the file that both share, never over the wire.
  const directory = createPeopleDirectory({ apiKey: () => readDemoSecret(provider), now, log });
  const people = await directory.listen({ port: opening.addresses.ports.people });
  stack.defer(() => people.close());
};
