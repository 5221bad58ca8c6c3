import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import { requireCerbos, startCerbos } from "#testing/cerbos.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { listenService } from "#http/listen.ts";
import { pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { freePort } from "#testing/free-port.ts";
import { testAudiences } from "#testing/identity.ts";
import { until } from "#testing/until.ts";

/** One decision point behind the port, over the demo world. */
type Adapter = (t: TestContext) => Promise<PdpWorld | undefined>;

const fileOf = async (t: TestContext, decisionPoint: Readonly<Record<string, unknown>>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-"));
  cleanUp(t, () => rm(folder, { recursive: true }));
  const file = join(folder, "pdp.yaml");
  await writeFile(file, JSON.stringify({ decision_point: decisionPoint }));
  return file;
};

const overCerbos = (identifier: string) => ({
  kind: "remote",
  identifier,
  facts: "full",
  subject_properties: { "cerbos.roles": "facts.groups + ['user']" },
  max_batch: 3,
});

const overInstance = async (t: TestContext): Promise<PdpWorld> => {
  const port = await freePort();
  const identifier = `http://127.0.0.1:${port}`;
  const inner = await pdpWorld(t, { settings: { PDP_PUBLIC_URL: identifier } });
  const listening = await listenService(inner.service.fetch, { port, hosts: ["127.0.0.1"] });
  cleanUp(t, () => listening.close(0));
  const token = await inner.identity.tokenFor(
    { sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.pep"], clientId: "service:pep", life: 3600 },
    testAudiences.pdp,
  );
  const file = await fileOf(t, { kind: "remote", identifier, auth: "bearer_from_env", facts: "subject" });
  return pdpWorld(t, { over: inner, settings: { PDP_CONFIG_FILE: file, PDP_REMOTE_TOKEN: token } });
};

const adapters: Readonly<Record<string, Adapter>> = {
  "the embedded engine": (t) => pdpWorld(t),
  Cerbos: async (t) => {
    if (!requireCerbos(t)) return undefined;
    const cerbos = await startCerbos(t);
    return pdpWorld(t, { settings: { PDP_CONFIG_FILE: await fileOf(t, overCerbos(cerbos.identifier)) } });
  },
  "another instance over HTTP": overInstance,
};

const subjectOf = (login: string) => ({
  type: "identity",
  id: `person:${login}`,
  properties: { tenant: login === "eve" ? "tenant:globex" : "tenant:acme" },
});
const item = (login: string, type: string, action: string, id = "*") => ({
  subject: subjectOf(login),
  action: { name: action },
  resource: { type, id },
});

/** What every decision point answers over the demo world; the rows of the matrix that gate the browser's pages. */
const rows: readonly (readonly [login: string, type: string, action: string, id: string, decision: boolean])[] = [
  ["ada", "pages", "view_all", "*", true],
  ["ben", "pages", "view_all", "*", true],
  ["dan", "pages", "view_all", "*", false],
  ["ada", "pages", "view", "operations", true],
  ["ben", "pages", "view", "people", true],
  ["ben", "pages", "view", "operations", false],
  ["cleo", "pages", "view", "my-work", true],
  ["dan", "pages", "view", "people", false],
  ["ben", "page.widget", "view", "people:grid:employees", true],
  ["ben", "page.widget", "view", "people:action:offboard", true],
  ["ada", "page.widget", "view", "people:action:offboard", false],
  ["cleo", "page.widget", "view", "operations:grid:runs", false],
  ["ben", "policies", "activate", "*", false],
];

for (const [name, adapter] of Object.entries(adapters)) {
  test(`the port holds its contract on ${name}`, async (t) => {
    const world = await adapter(t);
    if (world === undefined) return;
    const token = await world.serviceToken();
    const ask = async (path: string, body: unknown) => {
      const response = await world.ask(`/access/v1/${path}`, token, body);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return JSON.parse(text) as EvaluationReply & { readonly evaluations: readonly EvaluationReply[] };
    };

    const asked = rows.map(([login, type, action, id]) => item(login, type, action, id));
    const wanted = rows.map(([, , , , decision]) => decision);
    const many = await ask("evaluations", { evaluations: asked });
    assert.deepEqual(
      many.evaluations.map((reply) => reply.decision),
      wanted,
    );
    for (const [index, one] of asked.entries()) assert.equal((await ask("evaluation", one)).decision, wanted[index], JSON.stringify(one));

    const ids = many.evaluations.map((reply) => reply.context?.decision_id);
    assert.equal(new Set(ids).size, rows.length);
    for (const reply of many.evaluations) assert.equal(reply.decision, reply.context?.reason === undefined);

    const cut = async (semantic: string) =>
      (await ask("evaluations", { evaluations: asked, options: { evaluations_semantic: semantic } })).evaluations.map(
        (reply) => reply.decision,
      );
    assert.deepEqual(await cut("deny_on_first_deny"), wanted.slice(0, wanted.indexOf(false) + 1));
    assert.deepEqual(await cut("permit_on_first_permit"), [true]);

    const reasonOf = async (body: unknown) => (await ask("evaluation", body)).context?.reason;
    assert.equal(await reasonOf(item("nobody", "pages", "view_all")), "subject_unresolved");
    assert.equal(
      await reasonOf({ ...item("ben", "pages", "view_all"), subject: { ...subjectOf("ben"), properties: { tenant: "tenant:globex" } } }),
      "subject_unresolved",
    );
    assert.equal(await reasonOf(item("ben", "pages", "view", "no-such-page")), "resource_unresolved");
    assert.equal(await reasonOf(item("eve", "pages", "view", "people")), "resource_unresolved");
    assert.equal(await reasonOf(item("ben", "pages", "view")), "resource_id_required");
    // An agent that acts is neither dropped nor decided as if its person asked.
    const delegated = { ...item("ben", "pages", "view_all"), context: { agent: { id: "agent:hr-assistant" } } };
    assert.equal((await ask("evaluation", delegated)).decision, false);
    const call = { ...item("ben", "tool", "tools/call", "people.demo.list_employees"), context: { agent: { id: "agent:reporter" } } };
    assert.equal(await reasonOf(call), "delegation_inactive");
  });
}

test("over another decision point records name it, and what only the embedded engine knows is not offered", async (t) => {
  if (!requireCerbos(t)) return;
  const cerbos = await startCerbos(t);
  const world = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: await fileOf(t, overCerbos(cerbos.identifier)) } });
  const token = await world.serviceToken();
  const permit = (await (await world.ask("/access/v1/evaluation", token, item("ben", "pages", "view_all"))).json()) as EvaluationReply;
  const path = `/access/v1/decisions/${permit.context?.decision_id}`;
  const record = (await (await world.ask(path, token)).json()) as DecisionRecord;
  assert.equal(record.decision, true);
  const [row] = await world.database.run({ name: "test.version", text: "select policy_version from pdp.call" } as never, []);
  assert.deepEqual(row, { policy_version: `remote:${cerbos.identifier}` });
  assert.equal((await world.ask(`${path}?remedy=true`, token)).status, 501);
  const ada = await world.personToken("ada", { acr: "strong" });
  for (const other of ["policies", "policies/schema", "policies/rollouts"])
    assert.equal((await world.ask(`/access/v1/${other}`, ada)).status, 501);
  const search = await world.ask(
    "/access/v1/search/resource",
    await world.identity.tokenFor({ sub: "service:pep", tenant: "tenant:acme", scopes: ["authzen.search", "authzen.pep"] }),
    {
      subject: subjectOf("ben"),
      action: { name: "view" },
      resource: { type: "pages" },
    },
  );
  assert.equal(search.status, 501);
  const metadata = (await (await world.ask("/.well-known/authzen-configuration", undefined)).json()) as Readonly<Record<string, unknown>>;
  assert.equal(metadata["search_resource_endpoint"], undefined);
  assert.equal(metadata["supported_obligations"], undefined);
  assert.ok(metadata["access_evaluations_endpoint"]);
  // A tool's rows stay within the subject's data scope, although Cerbos says nothing of it.
  const call = (await (
    await world.ask("/access/v1/evaluation", token, item("ben", "tool", "tools/call", "people.demo.list_employees"))
  ).json()) as EvaluationReply;
  assert.equal(call.decision, true);
  assert.equal(call.context?.obligations?.[0]?.id, "data-scope");
});

test("a Cerbos killed in mid-run is 503 at once for everybody, and decides again when it is back", async (t) => {
  if (!requireCerbos(t)) return;
  const cerbos = await startCerbos(t);
  const world = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: await fileOf(t, overCerbos(cerbos.identifier)) } });
  const token = await world.serviceToken();
  const ask = async () => {
    const response = await world.ask("/access/v1/evaluation", token, item("ben", "pages", "view_all"));
    const body = (await response.json()) as { decision?: boolean; code?: string };
    return { status: response.status, decision: body.decision, code: body.code };
  };
  assert.deepEqual(await ask(), { status: 200, decision: true, code: undefined });
  const running = Array.from({ length: 40 }, ask);
  await cerbos.kill();
  for (const answer of await Promise.all(running)) assert.ok(answer.status === 503 || answer.decision === true, JSON.stringify(answer));
  for (let round = 0; round < 12; round++) assert.deepEqual(await ask(), { status: 503, decision: undefined, code: "pdp_unavailable" });
  assert.equal((await world.ask("/health/ready", undefined)).status, 503);
  assert.match(await world.metrics.text(), /pdp_remote_failures_total\{kind="unavailable"\} [1-9]/);
  await cerbos.start();
  // The breaker's clock is the world's: five seconds later it tries again.
  world.clock.now = new Date(world.clock.now.getTime() + 5001);
  await until(ask, ({ decision }) => decision === true);
  assert.equal((await world.ask("/health/ready", undefined)).status, 200);
});

test("started before its decision point, it serves 503 and finds it later", async (t) => {
  if (!requireCerbos(t)) return;
  const port = await freePort();
  const file = await fileOf(t, overCerbos(`http://127.0.0.1:${port}`));
  const world = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: file } });
  const token = await world.serviceToken();
  const ask = async () => (await world.ask("/access/v1/evaluation", token, item("ben", "pages", "view_all"))).status;
  assert.equal(await ask(), 503);
  assert.equal((await world.ask("/health/ready", undefined)).status, 503);
  const inner = await pdpWorld(t, { over: world, settings: { PDP_PUBLIC_URL: `http://127.0.0.1:${port}` } });
  const listening = await listenService(inner.service.fetch, { port, hosts: ["127.0.0.1"] });
  cleanUp(t, () => listening.close(0));
  // It is there, and wants a credential that is not configured: found, not believed.
  assert.equal(await ask(), 502);
  assert.equal((await world.ask("/health/ready", undefined)).status, 200);
});
