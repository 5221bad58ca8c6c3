import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createRequire, findPackageJSON } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { agent, crudInstance, peopleTools, type CrudInstance } from "#testing/crud-instance.ts";
import type { Listening } from "#http/listen.ts";

const wanted = ["system.health", ...peopleTools];
const run = promisify(execFile);

describe("stock clients connect, list and call over a loopback listener", () => {
  let instance: CrudInstance;
  let listening: Listening;
  let url: URL;
  const cleanups: (() => Promise<void> | void)[] = [];
  before(async () => {
    // What `memory.demo` offers is in no list, however soon its server would be there.
    instance = await crudInstance({ after: (work: () => Promise<void>) => void cleanups.push(work) } as never, { servers: "away" });
    listening = await instance.listen();
    url = new URL(`http://127.0.0.1:${listening.port}/mcp`);
  });
  after(async () => {
    await listening.close(0);
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  const connect = async (options: ConstructorParameters<typeof Client>[1], at: URL = url): Promise<Client> => {
    const token = await instance.token(agent);
    const client = new Client({ name: "test", version: "1" }, options);
    await client.connect(new StreamableHTTPClientTransport(at, { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
    return client;
  };

  for (const [era, options, version] of [
    ["2025-11-25", {}, "2025-11-25"],
    ["2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }, "2026-07-28"],
    ["negotiated", { versionNegotiation: { mode: "auto" } }, "2026-07-28"],
  ] as const) {
    test(`the official client, ${era}`, async () => {
      const client = await connect(options);
      try {
        assert.equal(client.getNegotiatedProtocolVersion(), version);
        assert.deepEqual(
          (await client.listTools()).tools.map((tool) => tool.name),
          wanted,
        );
        const result = await client.callTool({ name: "people.demo.get_employee", arguments: { id: "e1" } });
        assert.equal(result.isError, undefined);
        assert.equal((result.structuredContent as { id: string }).id, "e1");
        assert.deepEqual(JSON.parse((result.content[0] as { text: string }).text), result.structuredContent);
        await assert.rejects(
          client.callTool({ name: "memory.demo.read_graph", arguments: {} }),
          (error: { code: number; data: { code: string } }) => error.code !== undefined,
        );
        const refused = await client.callTool({ name: "people.demo.update_salary", arguments: { id: "e1", salary: 1 } });
        assert.equal(refused.isError, true);
        assert.match((refused.content[0] as { text: string }).text, /step_up_required/);
      } finally {
        await client.close();
      }
    });
  }

  test("the client of the 1.x line", async () => {
    // As a package of that line brings it along.
    const { resolve } = createRequire(findPackageJSON("@modelcontextprotocol/server-memory", import.meta.url) ?? "");
    const load = async (path: string): Promise<Record<string, unknown>> =>
      (await import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/${path}`)).href)) as Record<string, unknown>;
    const OldClient = (await load("client/index.js"))["Client"] as typeof Client;
    const OldTransport = (await load("client/streamableHttp.js"))["StreamableHTTPClientTransport"] as typeof StreamableHTTPClientTransport;
    const token = await instance.token(agent);
    const client = new OldClient({ name: "old", version: "1" });
    const transport = new OldTransport(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } });
    await client.connect(transport);
    try {
      assert.deepEqual(
        (await client.listTools()).tools.map((tool) => tool.name),
        wanted,
      );
      const result = await client.callTool({ name: "people.demo.list_employees", arguments: { limit: 2 } });
      assert.equal((result.structuredContent as { items: unknown[] }).items.length, 2);
    } finally {
      await client.close();
    }
  });

  test("the inspector's command line", async () => {
    const token = await instance.token(agent);
    const inspector = fileURLToPath(
      new URL("../../../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url),
    );
    const { stdout } = await run(
      process.execPath,
      [inspector, "--cli", url.href, "--transport", "http", "--header", `Authorization: Bearer ${token}`, "--method", "tools/list"],
      { timeout: 60_000 },
    );
    assert.deepEqual(
      (JSON.parse(stdout) as { tools: { name: string }[] }).tools.map((tool) => tool.name),
      wanted,
    );
  });

  test("a view has its own address, metadata and challenge", async () => {
    const client = await connect({}, new URL(`${url.href}/sallyport`));
    instance.membership.capabilities = ["sallyport.local.search_identities"];
    assert.deepEqual(
      (await client.listTools()).tools.map((tool) => tool.name),
      ["system.health", "sallyport.local.search_identities"],
    );
    instance.membership.capabilities = peopleTools;
    await client.close();
    for (const [base, headers] of [
      ["http://localhost:8083", {}],
      ["http://localhost:8080", { "x-forwarded-host": "localhost:8080" }],
    ] as const) {
      const anonymous = await fetch(`${url.href}/people`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: "{}",
      });
      const asked = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp/people", scope="mcp.tools.discovery mcp.tools.invoke"`;
      assert.deepEqual([anonymous.status, anonymous.headers.get("www-authenticate")], [401, asked]);
      const metadata = await fetch(new URL("/.well-known/oauth-protected-resource/mcp/people", url), { headers });
      assert.deepEqual(await metadata.json(), {
        resource: `${base}/mcp/people`,
        authorization_servers: ["http://localhost:8081"],
        scopes_supported: ["mcp.tools.discovery", "mcp.tools.invoke"],
        bearer_methods_supported: ["header"],
        resource_name: "Sallyport tools: people",
      });
    }
    assert.equal((await fetch(new URL("/.well-known/oauth-protected-resource/mcp/nowhere", url))).status, 404);
  });

  test("sessions belong to their principal and end", async () => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
    };
    const begun = await instance.request("/mcp", { body: initialize, headers, as: agent });
    const session = begun.headers.get("mcp-session-id") ?? "";
    assert.match(session, /^[0-9a-f-]{36}$/);
    assert.equal(((await begun.json()) as { result: { protocolVersion: string } }).result.protocolVersion, "2025-06-18");
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    const inSession = { ...headers, "mcp-session-id": session, "mcp-protocol-version": "2025-06-18" };
    assert.equal((await instance.request("/mcp", { body: list, headers: inSession, as: agent })).status, 200);
    assert.equal(
      (await instance.request("/mcp", { body: list, headers: inSession, as: { ...agent, sub: "person:cleo" } })).status,
      404,
      "another principal",
    );
    assert.equal((await instance.request("/mcp/people", { body: list, headers: inSession, as: agent })).status, 404, "another view");
    assert.equal((await instance.request("/mcp", { method: "DELETE", headers: inSession, as: agent })).status, 200);
    assert.equal((await instance.request("/mcp", { body: list, headers: inSession, as: agent })).status, 404, "after its end");
  });

  test("what is no request of the protocol is refused at its own rung", async () => {
    const post = (raw: string, headers: Record<string, string> = {}) =>
      instance.request("/mcp", {
        raw,
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
        as: agent,
      });
    const codeOf = async (response: Response): Promise<[number, number]> => [
      response.status,
      ((await response.json()) as { error: { code: number } }).error.code,
    ];
    assert.deepEqual(await codeOf(await post("{")), [400, -32700]);
    assert.deepEqual(await codeOf(await post('{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}')), [400, -32700]);
    assert.deepEqual(await codeOf(await post("[]")), [400, -32600]);
    assert.equal((await post("{}", { "content-type": "text/plain" })).status, 415);
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": "2099-01-01",
      "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const unknownVersion = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: envelope } }), {
      "mcp-protocol-version": "2099-01-01",
    });
    assert.deepEqual(await codeOf(unknownVersion), [400, -32022]);
    const unknownMethod = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/invoke", params: { name: "system.health" } }));
    assert.equal(unknownMethod.status, 200);
    assert.match(await unknownMethod.text(), /-32601/);
  });

  test("foreign hosts and origins are refused before anything is read", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const with_ = (headers: Record<string, string>) =>
      instance.request("/mcp", {
        raw: body,
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
        as: agent,
      });
    assert.equal((await with_({ host: "evil.example" })).status, 403);
    assert.equal((await with_({ origin: "https://evil.example" })).status, 403);
    assert.equal((await with_({ origin: "null" })).status, 403);
    assert.equal((await with_({ host: "localhost:8080", origin: "http://localhost:8080" })).status, 200);
  });

  test("whoever may not discover gets the challenge that names both scopes; a foreign client nothing", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const headers = { accept: "application/json, text/event-stream" };
    const without = await instance.request("/mcp", { body, headers, as: { ...agent, scopes: ["membership.read"] } });
    assert.equal(without.status, 403);
    assert.match(
      without.headers.get("www-authenticate") ?? "",
      /error="insufficient_scope".*scope="mcp\.tools\.discovery mcp\.tools\.invoke"/,
    );
    const foreign = await instance.request("/mcp", { body, headers, as: { clientId: "somebody-else" } });
    assert.equal(foreign.status, 403);
    assert.equal(((await foreign.json()) as { code: string }).code, "unknown_client");
    instance.verdicts.set("mcp_server:initialize", false);
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
    };
    assert.equal((await instance.request("/mcp", { body: initialize, headers, as: agent })).status, 403);
    instance.verdicts.clear();
  });

  for (const [era, options] of [
    ["2025-11-25", {}],
    ["2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" as const } } }],
  ] as const) {
    test(`a client hears that its own list changed, ${era}`, async () => {
      const reported: number[] = [];
      const changed = Promise.withResolvers<readonly string[]>();
      const client = await connect({
        ...options,
        listChanged: {
          tools: {
            onChanged: (_error, tools) => {
              reported.push(tools?.length ?? -1);
              if (tools?.length === 1) changed.resolve(tools.map((tool) => tool.name));
            },
          },
        },
      });
      try {
        assert.equal((await client.listTools()).tools.length, 4);
        // A change before the subscription has seen the list once is told in any case; after it no unchanged list is.
        for (let round = 0; round === 0 || (reported.length > 0 && round < 10); round += 1) {
          reported.length = 0;
          instance.moved("tenant:acme");
          await new Promise((resolve) => setTimeout(resolve, 1300));
        }
        assert.deepEqual(reported, [], "an unchanged list is not told");
        instance.membership.capabilities = [];
        instance.moved("tenant:acme");
        assert.deepEqual(await changed.promise, ["system.health"]);
        instance.verdicts.set("tool:tools/call", "delegation_inactive");
        await assert.rejects(client.callTool({ name: "people.demo.get_employee", arguments: { id: "e1" } }), /delegation|-32001/i);
      } finally {
        instance.verdicts.clear();
        instance.membership.capabilities = peopleTools;
        await client.close();
      }
    });
  }
});
