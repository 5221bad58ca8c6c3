import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Peer } from "#contract/ask.ts";
import { postNotice } from "#events/model/notice.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { crudInstance } from "#testing/crud-instance.ts";
import { hookReceiver } from "#testing/receivers.ts";
import { until } from "#testing/until.ts";

const ada = { sub: "person:ada", scopes: ["config.read", "config.write", "tasks.read", "tasks.complete"] };
/** Who asks is known to the graph by id alone. */
const contacts =
  (double: Peer): Peer =>
  async (request) =>
    request.url.endsWith("/contacts") ? Response.json({ contacts: [] }) : double(request);
const good = {
  apiVersion: "notifications/v1",
  name: "ops",
  title: "Operations",
  tenants: ["tenant:acme"],
  format: "generic",
  url: "https://hooks.example/x",
  signing_secret: "yaml://secret/hooks#key",
  kinds: ["task"],
};

test("a channel is published, shown with what it could not deliver, and taken away; the address in a secret is never shown", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-channels-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const instance = await crudInstance(t, {
    configFolder: folder,
    servers: "none",
    realEvents: true,
    membership: async (_identity, double) => contacts(double),
  });
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await instance.request(`/config/notifications${path}`, { method, as: ada, ...(body === undefined ? {} : { body }) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const cases: readonly (readonly [name: string, more: Record<string, unknown>, path: string, code?: string])[] = [
    ["an unknown member", { channel: "x" }, "/channel"],
    ["plain http", { url: "http://hooks.example/x" }, "/url"],
    ["a user in the address", { url: "https://u:p@hooks.example/x" }, "/url"],
    ["no address", { url: "hooks" }, "/url"],
    ["Slack's address, which is a credential", { format: "slack", signing_secret: undefined }, "/url", "credential_literal"],
    ["no key", { signing_secret: undefined }, "/signing_secret"],
    ["a key that stands there itself", { signing_secret: "whsec_abc" }, "/signing_secret"],
    ["a key of Teams", { format: "teams", url: "yaml://secret/hooks#url" }, "/signing_secret"],
    ["an unknown kind", { kinds: ["run"] }, "/kinds/0"],
    ["no kind", { kinds: [] }, "/kinds"],
    ["a network that the operator does not allow", { network: { allow: ["10.0.0.0/8"] } }, "/network/allow/0"],
    ["notices of another tenant", { tenants: ["tenant:acme", "tenant:globex"] }, "/tenants", "cross_tenant"],
    ["notices of all tenants", { tenants: undefined }, "/tenants", "cross_tenant"],
  ];
  for (const [name, more, path, code] of cases) {
    const { status, body } = await ask("POST", "", { ...good, ...more });
    assert.ok([403, 422].includes(status), `${name}: ${status} ${JSON.stringify(body)}`);
    const errors = body["errors"] as readonly { readonly path: string; readonly code?: string }[];
    assert.deepEqual(
      errors.map((one) => one.path),
      [path],
      name,
    );
    if (code !== undefined) assert.equal(errors[0]?.code, code, name);
  }
  const hook = await hookReceiver(t, (response) => response.writeHead(410).end());
  instance.secrets.value = hook.url;
  const slack = {
    ...good,
    format: "slack",
    url: "yaml://secret/hooks#url",
    signing_secret: undefined,
    network: { allow: ["127.0.0.0/8"] },
  };
  const made = await ask("POST", "", slack);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual((made.body["diff"] as { secrets_added?: unknown })["secrets_added"], ["yaml://secret/hooks#url"]);

  await instance.change(async (sql) => {
    const notice = {
      kind: "task" as const,
      id: "requests-1",
      tenant: "tenant:acme",
      title: "Offboard",
      from: "person:ben",
      href: "/tasks/x",
    };
    postNotice(sql, { ...notice, kind: "access_request", recipients: [] });
    postNotice(sql, { ...notice, kind: "tool_approval", recipients: [] });
    return { result: undefined };
  });
  assert.deepEqual((await ask("GET", "/ops")).body["problems"], []);
  const all = await ask("PUT", "/ops", { ...slack, kinds: ["access_request"] });
  assert.equal(all.status, 200, JSON.stringify(all.body));
  await instance.change(async (sql) => {
    postNotice(sql, {
      kind: "access_request",
      id: "requests-2",
      tenant: "tenant:acme",
      title: "T",
      from: "person:ben",
      href: "/requests/2",
      recipients: [],
    });
    return { result: undefined };
  });
  const shown = await until(
    () => ask("GET", "/ops"),
    ({ body }) => (body["problems"] as readonly unknown[]).length > 0,
  );
  const problems = shown.body["problems"] as readonly { readonly message: string; readonly code: string }[];
  assert.match(problems[0]?.message ?? "", /^[12] not delivered, the last at .*: it answers 410$/);
  assert.equal(problems[0]?.code, "not_delivered");
  assert.equal(shown.body["state"], "serving");
  assert.ok(!JSON.stringify([shown, await ask("GET", "")]).includes(hook.url));
  assert.equal((await ask("DELETE", "/ops")).status, 200);
  assert.deepEqual((await ask("GET", "")).body["notifications"], []);
});

test("a person chooses whether mail is sent; nobody else does", async (t) => {
  const instance = await crudInstance(t, { servers: "none" });
  const ask = async (method: string, as: object = ada, body?: unknown) => {
    const response = await instance.request("/notifications/me", { method, as, ...(body === undefined ? {} : { body }) });
    return [response.status, ((await response.json()) as { mail?: boolean; code?: string }).mail] as const;
  };
  assert.deepEqual(await ask("GET"), [200, true]);
  assert.deepEqual(await ask("PUT", ada, { mail: false }), [200, false]);
  assert.deepEqual(await ask("GET"), [200, false]);
  assert.deepEqual(await ask("GET", { ...ada, sub: "person:ben" }), [200, true]);
  assert.deepEqual(await ask("GET", { ...ada, tenant: "tenant:globex" }), [200, true]);
  assert.deepEqual(await ask("PUT", ada, { mail: "no" }), [422, undefined]);
  assert.deepEqual(await ask("GET", { ...ada, scopes: ["config.read"] }), [403, undefined]);
});
