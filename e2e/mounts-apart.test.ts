import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { requirePostgresGround } from "./postgres-ground.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const server = testServer();

const MOUNTS = '{"tenant:acme":["yaml://secret/acme"],"platform":["yaml://secret/people"]}';
/** The place is another tenant's now: what its former owner says of it is no more to be believed. */
const OTHERS = '{"tenant:globex":["yaml://secret/acme"],"platform":["yaml://secret/people"]}';
const system = (instance: string): string =>
  JSON.stringify({
    apiVersion: "systems/v1",
    provider: "acme",
    instance,
    title: "One of Acme's",
    owner: "person:ben",
    tenants: ["tenant:acme"],
    kind: "http",
    baseUrl: "https://one.example",
    auth: { type: "api_key", in: "header", name: "X-Api-Key", value: "yaml://secret/acme/one#key" },
    defaults: { dataScope: "none" },
    operations: { go: { description: "Goes there and comes back.", request: { method: "GET", path: "/x" } } },
  });

test(
  "a process whose mounts are not those of the secrets service is not ready, and lets no tenant name a secret until they agree",
  { timeout: 240_000 },
  async (t) => {
    const ground = await requirePostgresGround(t, server);
    if (ground === undefined) return;
    const port = await findFreePorts();
    const start = async (serve: string, mounts: string): Promise<TestInstance> => {
      const environment = { ...ground.environment, TENANT_ALLOWED_MOUNTS: mounts };
      const instance = await startTestInstance({ port, serve, environment, data: `${ground.folder}/${serve}` });
      cleanUp(t, () => instance.kill());
      return instance;
    };
    const [gateway, crud, membership] = [0, 3, 4].map((offset) => `http://localhost:${port + offset}`) as [string, string, string];
    const read = async (url: string) => {
      const response = await fetch(url);
      return { status: response.status, page: (await response.json()) as Readonly<Record<string, unknown>> };
    };
    const readiness = async () => {
      const pages = await Promise.all([crud, membership].map((url) => read(`${url}/health/ready`)));
      return pages.map(({ status, page }) => [status, page["reasons"]]);
    };
    const agree = [
      [200, undefined],
      [200, undefined],
    ];
    const differ = [
      [503, ["allowed_mounts"]],
      [503, ["allowed_mounts"]],
    ];

    const readers = await start("issuer,pdp,crud,membership,gateway", MOUNTS);
    assert.deepEqual(await readiness(), agree, "there is nobody to compare with");
    const write = async (user: string, url: string, { body, ...init }: { method: string; body: string; type?: string; new?: true }) => {
      const token = await fetchToken(port, { user, acr: "strong", aud: new URL(url).origin }, ground.environment);
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": init.type ?? "application/json",
        ...(init.new === undefined ? {} : { "if-none-match": "*" }),
      };
      const response = await fetch(url, { method: init.method, headers, body });
      return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
    };
    const made = await write("ada", `${membership}/api/v1/edges/MEMBER_OF/person:ben/role:administrator`, { method: "PUT", body: "{}" });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    let count = 0;
    /** Whether Ben may name a secret at Acme's place: in a system, and as a node. */
    const mayName = async (): Promise<readonly [isValid: unknown, status: number]> => {
      const name = `one${count++}`;
      const published = await write("ben", `${crud}/config/systems?dryRun=true`, {
        method: "POST",
        body: system(name),
        type: "application/yaml",
      });
      assert.equal(published.status, 200, JSON.stringify(published.body));
      const props = { type: "secret", attributes: { used_by: `acme.${name}` } };
      const node = { kind: "Resource", name, system: "sallyport", external_id: `yaml://secret/acme/${name}`, props };
      const written = await write("ben", `${membership}/api/v1/nodes/resource:acme.secret.${name}`, {
        method: "PUT",
        body: JSON.stringify(node),
        new: true,
      });
      return [published.body["valid"], written.status];
    };
    assert.deepEqual(await mayName(), [true, 201]);

    let secrets = await start("secrets", OTHERS);
    await until(readiness, (found) => JSON.stringify(found) === JSON.stringify(differ));
    assert.deepEqual(await mayName(), [false, 403]);
    assert.match(readers.output(), /"differ":true,"event":"allowed_mounts_differ"/);
    const isReported = ({ page }: Awaited<ReturnType<typeof read>>): boolean => {
      const checks = page["checks"] as Readonly<Record<string, { readonly reasons?: readonly string[] }>>;
      return ["crud", "membership"].every((part) => checks[part]?.reasons?.includes("allowed_mounts") === true);
    };
    await until(() => read(`${gateway}/api/v1/health`), isReported);
    await secrets.stop();
    assert.deepEqual(await readiness(), differ, "what was found stands while nobody says otherwise");
    assert.deepEqual(await mayName(), [false, 403]);

    secrets = await start("secrets", MOUNTS);
    await until(readiness, (found) => JSON.stringify(found) === JSON.stringify(agree));
    assert.deepEqual(await mayName(), [true, 201]);
    await readers.stop();
    await assert.rejects(start("crud,membership", OTHERS), /ended with 78:\n[^]*TENANT_ALLOWED_MOUNTS is not what the secrets service has/);
  },
);
