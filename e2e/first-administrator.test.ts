import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { serverUpstream } from "#testing/http-upstream.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { startOwnInstance } from "./own-instance.ts";
import { runScript } from "./run-script.ts";

test("from an empty folder to an agent's permitted call, without the demo, at a provider of one's own", async (t) => {
  const data = await mkdtemp(join(tmpdir(), "sallyport-first-"));
  cleanUp(t, () => rm(data, { recursive: true, force: true }));
  const port = await findFreePorts();
  const origin = `http://localhost:${port}`;
  const provider = await startForeignProvider([origin]);
  cleanUp(t, () => provider.stop());
  provider.logoutTarget = `${origin}/auth/backchannel-logout`;
  const appoint = (subject: string, issuer = provider.issuer, again: readonly string[] = [], environment = {}) =>
    runScript(
      "admin.ts",
      ["first", "--issuer", issuer, "--subject", subject, "--tenant", "acme", "--name", "Ada", "--data", data, ...again],
      environment,
    );
  const slip = `${provider.issuer}/`;
  const compared = await appoint("ada-1", slip, [], { OIDC_ISSUER: provider.issuer });
  assert.deepEqual([compared.code, compared.err.includes(`OIDC_ISSUER: ${provider.issuer}. `)], [64, true], compared.err);
  const wrong = await appoint("ada-1", slip);
  assert.deepEqual([wrong.code, /nothing was compared/.test(wrong.err)], [0, true], wrong.err);
  const untold = await appoint("ada-1");
  assert.deepEqual([untold.code, /--again/.test(untold.err)], [77, true], untold.err);
  const first = await appoint("ada-1", provider.issuer, ["--again"]);
  assert.deepEqual([first.code, first.err.split(" ")[0]], [0, "person:oidc:ada-1"], first.err);
  const second = await appoint("mallory");
  assert.deepEqual([second.code, /once|already/.test(second.err)], [77, true], second.err);

  const environment = {
    TENANT_ALLOWED_MOUNTS: '{"tenant:acme":["yaml://secret"]}',
    // A setting that was left from another start.
    BOOTSTRAP_ADMIN: `${provider.issuer}|mallory|mine`,
  };
  const { instance, come, signIn, call, as, exchange } = await startOwnInstance(t, { port, data, provider, environment });
  assert.match(instance.output(), /bootstrap_admin_ignored/);
  const held = await appoint("mallory");
  assert.deepEqual([held.code, /Stop Sallyport first/.test(held.err)], [73, true], held.err);

  const ada = await signIn("ada-1");
  const who = async (person: typeof ada) => (await call(person.headers, "GET", "/auth/session")).body.subject?.id;
  assert.equal(await who(ada), "person:oidc:ada-1");
  const administer = as(ada);
  const fresh = { "if-none-match": "*" };

  // A person, by signing in; into a group by a claim, and nothing more.
  const ben = await signIn("ben-1", { name: "Ben", groups: ["unheard of"] });
  assert.equal(await who(ben), "person:oidc:ben-1");
  const refused = await call({ ...ben.headers, ...fresh }, "PUT", "/api/membership/nodes/group:mine", { kind: "Group", name: "Mine" });
  assert.equal(refused.status, 403, "nobody is anybody by having signed in");
  await administer("PATCH", "/nodes/person:oidc:ada-1", { props: { email: "ada@acme.example" } }, { "if-match": "*" });
  const mallory = await come("mallory", { email: "ada@acme.example", email_verified: true });
  assert.deepEqual(
    [mallory.landed.status, mallory.landed.html.includes("mallory"), mallory.landed.html.includes(provider.issuer)],
    [403, true, true],
  );
  assert.match(mallory.landed.html, /unknown_person/);
  await administer("PUT", "/edges/MEMBER_OF/person:oidc:ben-1/role:member", {});
  await administer("PUT", "/edges/MEMBER_OF/person:oidc:ada-1/role:security", {});

  // An agent with credentials, a controller and a capability.
  await administer("PUT", "/nodes/agent:helper", { kind: "AIAgent", name: "Helper" }, fresh);
  await administer("PUT", "/agent/agents/agent:helper/control", { controller_id: "person:oidc:ben-1" });
  const tool = "sallyport.local.search_identities";
  await administer("PUT", `/edges/HAS_CAPABILITY/agent:helper/${tool}`, { props: { granted_by: "person:oidc:ada-1" } });
  const made = await administer("POST", "/credentials", { client_id: "agent:helper" });

  // A delegation, and the agent's call.
  const day = { capabilities: [tool], budget_usd: 1, max_steps: 3, purpose: "Find colleagues" };
  await as(ben)("POST", "/delegations", { agent_id: "agent:helper", ...day }, { "idempotency-key": "one" });
  const { access_token: token } = await exchange("agent:helper", made.client_secret, "ben-1");
  const agent = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ask = { jsonrpc: "2.0", id: "1", method: "tools/call", params: { name: tool, arguments: { search: "helper" } } };
  const done = await call(agent, "POST", "/api/crud/mcp/jsonrpc", ask);
  assert.match(JSON.stringify(done.body), /agent:helper/);
  assert.equal(done.body.error, undefined, JSON.stringify(done.body));
  const decided = await call(ben.headers, "GET", `/access/v1/decisions?agent=agent:helper&resource=${tool}`);
  const record = decided.body.decisions?.[0];
  assert.deepEqual([record?.decision, record?.subject?.id], [true, "person:oidc:ben-1"], JSON.stringify(decided.body).slice(0, 500));

  // A secret of their own: written, rotated, shown with a purpose; a tool uses it once an administrator has said so.
  const upstream = await serverUpstream(t);
  const secret = (who: typeof ada, method: string, path: string, body?: unknown) => call(who.headers, method, `/api/secrets${path}`, body);
  const uri = "yaml://secret/billing#key";
  assert.equal((await secret(ada, "POST", "", { uri, value: "canary-first" })).status, 201);
  assert.equal((await secret(ada, "POST", "/rotate", { uri, value: "canary-second" })).status, 200);
  const shown = await secret(ada, "GET", `/value?uri=${encodeURIComponent(uri)}`);
  assert.deepEqual([shown.status, shown.body.value], [200, "canary-second"]);
  const hidden = await secret(ben, "GET", `/value?uri=${encodeURIComponent(uri)}`);
  assert.deepEqual([hidden.status, hidden.body.code], [403, "secret_authz_failed"]);
  assert.deepEqual(
    hidden.body.details.failures.map((one: Record<string, unknown>) => [one["code"], one["reason"], typeof one["remedy"]]),
    [["access_denied", "not_granted", "string"]],
    "his own decision may be explained to him",
  );
  const system = {
    apiVersion: "systems/v1",
    provider: "billing",
    instance: "main",
    env: "dev",
    title: "Billing",
    owner: "person:oidc:ada-1",
    kind: "http",
    baseUrl: upstream.url,
    network: { allow: ["127.0.0.1/32"] },
    auth: { type: "api_key", in: "header", name: "X-Api-Key", value: uri },
    operations: {
      show: {
        title: "Show",
        description: "Shows the name of the billing server.",
        request: { method: "GET", path: "/" },
        input: { type: "object" },
        annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
        scopes: ["billing.read"],
        dataScope: "none",
      },
    },
  };
  const published = await call(ada.headers, "POST", "/api/crud/config/systems", system);
  assert.equal(published.status, 201, JSON.stringify(published.body));
  const bearer = await provider.accessToken(`http://localhost:${port + 3}`, { sub: "ada-1", scope: "config.read config.write" });
  const kept = join(data, "kept");
  const taken = await runScript("config.ts", ["export", kept, "--port", `${port}`], { SALLYPORT_TOKEN: bearer });
  assert.equal(taken.code, 0, taken.err);
  assert.ok((await readdir(join(kept, "systems"))).includes("billing.main.yaml"), taken.out);
  const back = await runScript("config.ts", ["import", kept, "--dry-run", "--port", `${port}`], { SALLYPORT_TOKEN: bearer });
  assert.match(back.out, /as they were/, back.err);
  await administer("PUT", "/edges/GRANTS_ACCESS/person:oidc:ben-1/billing.main.show", {});
  const show = () =>
    call(ben.headers, "POST", "/api/crud/mcp/jsonrpc", {
      jsonrpc: "2.0",
      id: "1",
      method: "tools/call",
      params: { name: "billing.main.show", arguments: {} },
    });
  assert.match(JSON.stringify((await show()).body), /"error"/);
  assert.equal(upstream.seen.length, 0, "nobody has said that this system may use it");
  const place = {
    kind: "Resource",
    name: "Key of billing",
    system: "sallyport",
    external_id: "yaml://secret/billing",
  };
  const named = (system_id: string) => ({ type: "secret", attributes: { used_by: system_id } });
  await administer("PUT", "/nodes/resource:secret.billing", { ...place, props: named("billing.main") }, fresh);
  const used = await show();
  assert.equal(used.body.error, undefined, JSON.stringify(used.body));
  assert.equal(upstream.seen.at(-1)?.headers["x-api-key"], "canary-second");
  await administer("PATCH", "/nodes/resource:secret.billing", { props: named("billing.other") }, { "if-match": "*" });
  assert.match(JSON.stringify((await show()).body), /"error"/);
  assert.equal(upstream.seen.length, 1, "taken back");

  // What has ended is worth nothing at once.
  await administer("DELETE", `/credentials/${made.credential_id}`);
  assert.equal((await exchange("agent:helper", made.client_secret, "ben-1")).error, "invalid_client");
});
