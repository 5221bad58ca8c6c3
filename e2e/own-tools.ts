import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { startOwnInstance } from "./own-instance.ts";
import { runScript } from "./run-script.ts";
import { makeDataFolder } from "./test-instance.ts";

const examples = new URL("../src/crud/imports/documents/oas-examples.json.gz", import.meta.url);

/** The published example, as a text. */
export const petstore = JSON.stringify(
  (JSON.parse(gunzipSync(readFileSync(examples)).toString()) as Record<string, unknown>)["3.0/petstore"],
);

/** A system as somebody writes it by hand. */
export const wallClock = (baseUrl: string): string => `apiVersion: systems/v1
provider: clock
instance: wall
title: Wall clock
owner: person:oidc:ada-1
tenants: [tenant:acme]
kind: http
baseUrl: ${baseUrl}
network: { allow: [127.0.0.1/32] }
defaults: { dataScope: none }
operations:
  now:
    description: Tells what time it is on the wall.
    request: { method: GET, path: /now }
`;

/** What the pet store is told by whoever calls it: a key that lies in a secret. */
export const petKey = { type: "api_key", in: "header", name: "api_key", value: "yaml://secret/pets#key" };

/** A server of somebody else, nine tools, each of which waits to be approved. */
export const memoryServer = (instance: string, owner: string): string => `apiVersion: systems/v1
provider: notes
instance: ${instance}
title: Notes
owner: ${owner}
tenants: [tenant:acme]
kind: mcp
transport: { type: stdio, command: mcp-server-memory, env: { MEMORY_FILE_PATH: "\${TENANT_FOLDER}/memory.jsonl" } }
quarantineNew: true
defaults: { timeout: PT10S, dataScope: none }
`;

/** An instance without the demo: Ada is its administrator, Ben a member who controls `agent:helper`, and something answers where tools lead. */
export const startOwnTools = async (t: TestContext) => {
  const data = await makeDataFolder();
  cleanUp(t, () => rm(data, { recursive: true, force: true }));
  const port = await findFreePorts();
  const provider = await startForeignProvider([`http://localhost:${port}`]);
  cleanUp(t, () => provider.stop());
  const who = ["--issuer", provider.issuer, "--subject", "ada-1", "--tenant", "acme", "--name", "Ada"];
  assert.equal((await runScript("admin.ts", ["first", ...who, "--data", data])).code, 0);
  const configFolder = join(await mkdtemp(join(tmpdir(), "sallyport-own-config-")), "config");
  cleanUp(t, () => rm(dirname(configFolder), { recursive: true, force: true }));
  // What the demo allows to start, its operator allows too. Policies lie beside the shipped configuration.
  const shipped = join(import.meta.dirname, "../config");
  await cp(shipped, configFolder, { recursive: true });
  await cp(join(shipped, "demo/servers.yaml"), join(configFolder, "servers.yaml"));
  await symlink(join(shipped, "../src"), join(dirname(configFolder), "src"));
  const environment = { TENANT_ALLOWED_MOUNTS: '{"tenant:acme":["yaml://secret"]}' };
  const { origin, signIn, call, as, exchange } = await startOwnInstance(t, {
    port,
    data,
    provider,
    environment,
    more: ["--config", configFolder],
  });
  const upstream = await serverUpstream(t);
  upstream.answer = (_request, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end('{"id":7,"name":"Rex"}');
  const ada = await signIn("ada-1");
  const ben = await signIn("ben-1", { name: "Ben" });
  const graph = as(ada);
  const config = as(ada, "crud");
  await graph("PUT", "/edges/MEMBER_OF/person:oidc:ben-1/role:member", {});
  await graph("PUT", "/nodes/agent:helper", { kind: "AIAgent", name: "Helper" }, { "if-none-match": "*" });
  await graph("PUT", "/agent/agents/agent:helper/control", { controller_id: "person:oidc:ben-1" });
  const { client_secret: secret } = await graph("POST", "/credentials", { client_id: "agent:helper" });

  const steps = async (tool: string): Promise<readonly string[]> => {
    const path = `/mcp/tools/explain?tool=${tool}&user_id=person:oidc:ben-1&agent_id=agent:helper`;
    return (await config("GET", path)).missing.map((row: { step: string; who: string }) => `${row.step} ${row.who}`);
  };
  /** Each step that is left between a published tool and the agent's call is named, then taken. */
  const grant = async (tools: readonly string[]): Promise<void> => {
    const admin = "an administrator (role:administrator)";
    for (const tool of tools) {
      assert.deepEqual(await steps(tool), [`grant ${admin}`, `capability ${admin}`, "delegate person:oidc:ben-1"]);
      await graph("PUT", `/edges/GRANTS_ACCESS/person:oidc:ben-1/${tool}`, {});
      assert.deepEqual(await steps(tool), [`capability ${admin}`, "delegate person:oidc:ben-1"]);
      await graph("PUT", `/edges/HAS_CAPABILITY/agent:helper/${tool}`, { props: { granted_by: "person:oidc:ada-1" } });
      assert.deepEqual(await steps(tool), ["delegate person:oidc:ben-1"]);
    }
  };
  const delegate = async (tools: readonly string[]): Promise<void> => {
    const delegation = { agent_id: "agent:helper", capabilities: tools, budget_usd: 1, max_steps: 9, purpose: "Look after the pets" };
    await as(ben)("POST", "/delegations", delegation, { "idempotency-key": "one" });
    for (const tool of tools) assert.deepEqual(await steps(tool), []);
  };
  const give = async (tools: readonly string[]): Promise<void> => {
    await grant(tools);
    await delegate(tools);
  };
  /** How the agent calls, with its own token for what Ben delegated. */
  const agent = async () => {
    const { access_token: token } = await exchange("agent:helper", secret, "ben-1");
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return {
      use: (name: string, args: unknown) =>
        call(headers, "POST", "/api/crud/mcp/jsonrpc", {
          jsonrpc: "2.0",
          id: "1",
          method: "tools/call",
          params: { name, arguments: args },
        }),
      execute: (name: string, args: unknown) => call(headers, "POST", "/api/crud/execute", { tool: name, arguments: args }),
    };
  };
  /** Its calls reach the upstream; what nobody gave is refused before anything is asked there. */
  const walk = async (calls: readonly (readonly [tool: string, args: unknown, url: string])[], refused: string): Promise<void> => {
    const { use, execute } = await agent();
    for (const [tool, args, url] of calls) {
      for (const way of [use, execute]) assert.match(JSON.stringify((await way(tool, args)).body), /Rex/, tool);
      assert.deepEqual(
        upstream.seen.slice(-2).map((seen) => seen.url),
        [url, url],
      );
    }
    const before = upstream.seen.length;
    assert.notEqual((await use(refused, { name: "Rex", photoUrls: [] })).body.error, undefined);
    assert.deepEqual((await execute(refused, { name: "Rex", photoUrls: [] })).status, 403);
    assert.equal(upstream.seen.length, before);
  };
  return { origin, provider, upstream, config, ada, ben, as, call, agent, steps, grant, delegate, give, walk };
};
