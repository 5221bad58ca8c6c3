import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { createServiceKeys, type ServiceKeys } from "#authn/keys/service-keys.ts";
import { createServiceKeyStore } from "#authn/keys/service-key-store.ts";
import { createIssuer, type Issuer } from "#issuer/issuer.ts";
import { deriveClientSecret } from "#authn/sealing/client-secret.ts";
import type { FindClient } from "#authn/exchange/registered-clients.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";
import type { Database } from "#store/database.ts";
import { silentLog, type Log } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { demoSignIns } from "#demo/sign-ins.ts";
import { testAudiences } from "./identity.ts";

export interface TestIssuer {
  readonly issuer: Issuer;
  readonly url: string;
  readonly serviceKeys: ServiceKeys;
  readonly secrets: InstanceSecrets;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly audiences: readonly [string, ...string[]];
  readonly publicOrigin: string;
}

/** The embedded issuer with the demo sign-ins, on a free port, for as long as the test. */
export const testIssuer = async (
  t: TestContext,
  database: Database,
  more: {
    readonly now?: () => Date;
    readonly log?: Log;
    readonly secrets?: InstanceSecrets;
    readonly server?: Server;
    readonly publicOrigin?: string;
    readonly findClient?: FindClient | undefined;
  } = {},
): Promise<TestIssuer> => {
  const now = more.now ?? (() => new Date());
  const secrets: InstanceSecrets = more.secrets ?? [randomBytes(32)];
  const server = more.server ?? createServer();
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const publicOrigin = more.publicOrigin ?? testAudiences.gateway;
  const audiences = [publicOrigin, `${publicOrigin}/mcp`, ...Object.values(testAudiences).slice(1)] as const;
  const serviceKeys = createServiceKeys({ store: createServiceKeyStore(database), secrets, issuer: publicOrigin, now });
  const clientId = "sallyport-web";
  const clientSecret = deriveClientSecret(secrets, clientId);
  const issuer = await createIssuer({
    issuerUrl: url,
    environment: "test",
    database,
    secrets,
    web: { clientId, clientSecret, publicOrigins: [publicOrigin] },
    signIns: demoSignIns,
    audiences,
    serviceKeys,
    findClient: more.findClient,
    metrics: createMetrics(),
    log: more.log ?? silentLog,
    now,
  });
  server.removeAllListeners("request");
  server.on("request", issuer.handler);
  t.after(async () => {
    await issuer[Symbol.asyncDispose]();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { issuer, url, serviceKeys, secrets, clientId, clientSecret, audiences, publicOrigin };
};
