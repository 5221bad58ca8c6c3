import assert from "node:assert/strict";
import { test } from "node:test";
import { openTrustingFetch } from "#http/trusting-fetch.ts";
import { readFile } from "node:fs/promises";
import { testCertificates, type Certificate } from "#testing/certificates.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const server = testServer();

interface Health {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly status: string; readonly reasons?: readonly string[] }>>;
}

/** In the order in which their ports count up from the gateway's. */
const services = ["gateway", "issuer", "pdp", "crud", "membership", "secrets"] as const;

test(
  "services apart speak TLS to one another, each shows its health and metrics, and a wrong certificate is told",
  { timeout: 240_000 },
  async (t) => {
    const ground = await requirePostgresGround(t, server);
    if (ground === undefined) return;
    const certificates = await testCertificates(t);
    const port = await findFreePorts();
    const origin = `https://localhost:${port}`;
    const settingsOf = ({ certFile, keyFile }: Certificate) => ({
      ...ground.environment,
      TLS_CERT_FILE: certFile,
      TLS_KEY_FILE: keyFile,
      TLS_CA_FILE: certificates.caFile,
    });
    const good = settingsOf(certificates.good);
    const start = async (serve: string, environment: Readonly<Record<string, string>> = good): Promise<TestInstance> => {
      const instance = await startTestInstance({ port, serve, environment, data: `${ground.folder}/${serve}` });
      cleanUp(t, async () => {
        await instance.kill();
        await instance.stop();
      });
      return instance;
    };
    const people = await start("issuer,membership,secrets");
    let deciding = await start("pdp,crud");
    await start("gateway");
    const { send, ...trusting } = openTrustingFetch([await readFile(certificates.caFile, "utf8")]);
    cleanUp(t, () => trusting[Symbol.asyncDispose]());
    const health = async (): Promise<Health> => (await (await send(`${origin}/api/v1/health`)).json()) as Health;

    const all = await until(health, ({ status }) => status === "healthy");
    assert.deepEqual(
      Object.entries(all.checks).map(([name, { status }]) => [name, status]),
      [
        ["redis", "not_configured"],
        ["database", "up"],
        ["identity_provider", "up"],
        ["pdp", "up"],
        ["crud", "up"],
        ["membership", "up"],
        ["secrets", "up"],
      ],
    );
    const ben = { authorization: `Bearer ${await fetchToken(port, { user: "ben" }, good)}` };
    const listed = (await (await send(`${origin}/api/crud/mcp/tools/list`, { headers: ben })).json()) as {
      tools: readonly { name: string }[];
    };
    assert.ok(
      listed.tools.some(({ name }) => name === "people.demo.list_employees"),
      "the gateway, the tools, the decision and the graph asked one another",
    );

    for (const [at, name] of services.entries()) {
      const own = `https://localhost:${port + at}`;
      for (const [path, status] of [
        ["/health/live", "alive"],
        ["/health/ready", "ready"],
      ] as const) {
        const page = await send(`${own}${path}`);
        assert.deepEqual([page.status, ((await page.json()) as { status: string }).status], [200, status], `${name}${path}`);
      }
      assert.match(await (await send(`${own}/metrics`)).text(), /^# HELP /m, name);
      assert.equal((await send(`${own}/metrics`, { headers: { "x-forwarded-for": "192.0.2.1" } })).status, 403, name);
      await assert.rejects(fetch(`http://localhost:${port + at}/health/live`), name);
    }
    const through = await send(`${origin}/api/crud/metrics`, { headers: ben });
    assert.ok(through.status === 401 || through.status === 403, "nobody reads a service's metrics through the gateway");

    await deciding.stop();
    const isDown = ({ checks }: Health) => checks["pdp"]?.status === "down" && checks["crud"]?.status === "down";
    assert.equal((await until(health, isDown)).checks["pdp"]?.reasons, undefined);
    deciding = await start("pdp,crud", settingsOf(certificates.wrongName));
    const reported = await until(health, ({ checks }) => checks["pdp"]?.reasons !== undefined);
    assert.deepEqual(
      [reported.status, reported.checks["pdp"]?.reasons, reported.checks["crud"]?.reasons],
      ["degraded", ["certificate"], ["certificate"]],
    );
    const refused = await send(`${origin}/api/crud/mcp/tools/list`, { headers: ben });
    assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [502, "upstream_tls_failed"]);
    await send(`https://localhost:${port + 4}/api/v1/delegations?agent_id=agent:hr-assistant`, { headers: ben });
    await until(() => people.output().includes("peer_certificate_refused"));
    assert.match(people.output(), /"service":"pdp"[^\n]*ERR_TLS_CERT_ALTNAME_INVALID/);
  },
);

test("a start with a key that is not the certificate's says so, and nothing is opened", async (t) => {
  const { good, selfSigned } = await testCertificates(t);
  await assert.rejects(
    startTestInstance({ environment: { TLS_CERT_FILE: good.certFile, TLS_KEY_FILE: selfSigned.keyFile } }),
    /ended with 78:\n[^]*TLS_KEY_FILE: .* is not the key of/,
  );
});
