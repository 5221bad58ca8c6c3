import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Service } from "#http/service.ts";
import { createPdp } from "#pdp/service.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "./clean-up.ts";
import { testDatabase } from "./database.ts";
import { testEvents } from "./events.ts";
import { testAudiences, type TestIdentity } from "./identity.ts";
import { pdpConfig, pdpModules } from "./pdp.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The decision point's file of a profile that ships. */
export const profileFile = (name: string): string => join(root, "config", name, "pdp.yaml");

/**
 * The decision point of a profile with facts of its own, as `npm start -- --config config/<name>` serves it, on an
 * embedded database; closed when the test ends. Its audience and address are those of the all-in-one instance.
 */
export const profilePdp = async (t: Pick<TestContext, "after">, name: string, identity: TestIdentity): Promise<Service> => {
  const database = await testDatabase(t, pdpModules);
  const { change } = await testEvents(t, database);
  const service = await createPdp({
    config: pdpConfig({ PDP_CONFIG_FILE: profileFile(name), PDP_PUBLIC_URL: testAudiences.pdp }),
    database,
    change,
    authenticate: identity.authenticateFor(testAudiences.pdp),
    identity: identity.identityOf("pdp"),
    peers: { membership: async () => assert.fail("a profile with a file of facts asks membership nothing") },
    audiences: { membership: testAudiences.membership },
    publicOrigin: testAudiences.gateway,
    secrets: identity.secrets,
    log: silentLog,
    metrics: createMetrics(),
    now: () => new Date(),
    environment: "test",
  });
  cleanUp(t, () => service[Symbol.asyncDispose]());
  return service;
};
