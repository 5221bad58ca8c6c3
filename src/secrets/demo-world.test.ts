import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { createPdpClient } from "#pdp-client/pdp-client.ts";
import { testAudiences } from "#testing/identity.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { testSecrets, type TestSecrets } from "#testing/secrets.ts";
import { demoAllowedMounts, readDemoSecret, seedDemoSecret } from "#demo/secret.ts";

const DEMO = "yaml://secret/people/demo#api_key";
const LIST = "people.demo.list_employees";
const path = (uri = DEMO): string => `/api/secrets/value?uri=${encodeURIComponent(uri)}`;
const scopes = ["secrets.read", "secrets.write"];
const person = (login: string) => ({ sub: `person:${login}`, tenant: login === "eve" ? "tenant:globex" : "tenant:acme", scopes });

interface World {
  readonly secrets: TestSecrets;
  /** What the tool server's decision on a call says: its id, whether permitted. */
  decideCall(login: string, tool: string): Promise<{ readonly id: string; readonly permitted: boolean }>;
  readForCall(tool: string, decisionId: string): Promise<Response>;
}

/** The real decision point with the demo's graph and policies, asked over its own protocol. */
const open = async (t: TestContext): Promise<World> => {
  const pdp = await pdpWorld(t);
  const pdpClient = createPdpClient({
    pdp: pdp.service.fetch,
    pdpAudience: testAudiences.pdp,
    identity: pdp.identity.identityOf("secrets"),
    publicOrigin: testAudiences.gateway,
    now: () => pdp.clock.now,
    timeoutMs: 10_000,
  });
  const settings = { TENANT_ALLOWED_MOUNTS: demoAllowedMounts, TENANT_SALT: "0123456789abcdef0123456789abcdef" };
  const secrets = await testSecrets(t, { identity: pdp.identity, parts: { pdpClient, peers: { pdp: pdp.service.fetch } }, settings });
  await seedDemoSecret(secrets.provider);
  const crud = createPdpClient({
    pdp: pdp.service.fetch,
    pdpAudience: testAudiences.pdp,
    identity: pdp.identity.identityOf("crud"),
    publicOrigin: testAudiences.gateway,
    now: () => pdp.clock.now,
    timeoutMs: 10_000,
  });
  return {
    secrets,
    decideCall: async (login, tool) => {
      const requester = { ...person(login), scopes: new Set(["mcp.tools.invoke"]), amr: [] };
      const decided = await crud.decide(requester, { type: "tool", action: "tools/call", id: tool, meets: ["data_scope"] }, "test");
      return { id: decided.decisionId, permitted: decided.decision };
    },
    readForCall: (tool, decisionId) => secrets.send("crud", "GET", path(), { headers: { "x-tool-id": tool, "x-decision-id": decisionId } }),
  };
};

const codeOf = async (response: Response): Promise<string> => ((await response.json()) as { code: string }).code;

suite("secrets under the demo's policies", () => {
  for (const login of ["ben", "eve"]) {
    test(`the tool server reads the people key for a call that ${login} is permitted`, async (t) => {
      const world = await open(t);
      const call = await world.decideCall(login, LIST);
      assert.equal(call.permitted, true);
      const response = await world.readForCall(LIST, call.id);
      assert.equal(response.status, 200, await response.clone().text());
      assert.equal(((await response.json()) as { value: string }).value, await readDemoSecret(world.secrets.provider));
    });
  }

  test("a denied call, another tool's call and no call open nothing", async (t) => {
    const world = await open(t);
    const denied = await world.decideCall("dan", LIST);
    assert.equal(denied.permitted, false);
    assert.equal(await codeOf(await world.readForCall(LIST, denied.id)), "secret_authz_failed");
    const permitted = await world.decideCall("ben", LIST);
    assert.equal(await codeOf(await world.readForCall("people.demo.update_salary", permitted.id)), "secret_authz_failed");
    assert.equal(await codeOf(await world.readForCall(LIST, "d_00000000000000000000000000")), "secret_authz_failed");
    assert.deepEqual(
      world.secrets.touched.filter((one) => one.startsWith("read")),
      [`read ${DEMO}`],
    );
  });

  test("a call of another system opens nothing of the people system", async (t) => {
    const world = await open(t);
    const health = await world.decideCall("ben", "system.health");
    assert.equal(health.permitted, true);
    assert.equal(await codeOf(await world.readForCall("system.health", health.id)), "secret_authz_failed");
  });

  const values: readonly (readonly [login: string, status: number])[] = [
    ["ada", 200],
    ["ben", 403],
    ["cleo", 403],
    ["dan", 403],
    ["eve", 403],
  ];
  test("of persons only ada sees the value", async (t) => {
    const world = await open(t);
    for (const [login, status] of values) assert.equal((await world.secrets.send(person(login), "GET", path())).status, status, login);
    assert.equal((await world.secrets.send({ ...person("ben"), agent: "agent:hr-assistant" }, "GET", path())).status, 403);
  });

  test("ada and ben write the secret that is granted to them, the others do not, ben no other one", async (t) => {
    const world = await open(t);
    const write = (login: string, uri: string) =>
      world.secrets.send(person(login), "POST", "/api/secrets", { body: { uri, value: "new" } });
    for (const [login, status] of [
      ["ada", 200],
      ["ben", 200],
      ["cleo", 403],
      ["dan", 403],
      ["eve", 403],
    ] as const)
      assert.equal((await write(login, DEMO)).status, status, login);
    assert.equal((await write("ben", "yaml://secret/people/payroll#key")).status, 403);
    assert.equal((await write("ben", "yaml://secret/acme/payroll#key")).status, 403);
  });

  test("the places of the tenant are told to ada and ben, with what each can; where none is set there are none", async (t) => {
    const world = await open(t);
    const mounts = async (login: string): Promise<unknown> => {
      const who = { ...person(login), scopes: ["secrets.read_metadata"] };
      const response = await world.secrets.send(who, "GET", "/api/secrets/mounts");
      return response.status === 200 ? ((await response.json()) as { mounts: unknown }).mounts : await codeOf(response);
    };
    const acme = [
      { uri: "yaml://secret/acme", versions: false, writable: true },
      { uri: "yaml://secret/people", versions: false, writable: true },
    ];
    assert.deepEqual(await mounts("ada"), acme);
    assert.deepEqual(await mounts("ben"), acme);
    for (const login of ["cleo", "dan", "eve"]) assert.equal(await mounts(login), "access_denied", login);
    const without = await testSecrets(t, { settings: { TENANT_ALLOWED_MOUNTS: "{}" } });
    const answer = await without.send({ ...person("ada"), scopes: ["secrets.read_metadata"] }, "GET", "/api/secrets/mounts");
    assert.deepEqual([answer.status, await answer.json()], [200, { mounts: [] }]);
  });
});
