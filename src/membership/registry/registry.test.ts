import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { testIdentity } from "#testing/identity.ts";
import { graphModules, servedWorld, type Reply } from "#testing/membership.ts";

const scopes = ["membership.read", "membership.registry", "membership.write"];
const MCP = "/api/v1/mcp";

const served = async (t: Parameters<typeof servedWorld>[0]) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const call = (method: string, path: string, body?: unknown, as = "ada", headers = {}): Promise<Reply> =>
    world.call(as, method, path.startsWith("/api") ? path : `${MCP}${path}`, { ...(body === undefined ? {} : { body }), scopes, headers });
  return { world, call };
};
const service = { name: "github", service_type: "external", url: "https://mcp.github.example/mcp", provider: "GitHub" };

test("a service is registered once by name, found, listed, and changed", async (t) => {
  const { world, call } = await served(t);
  const made = await call("POST", "/services", service);
  assert.deepEqual(
    [made.status, made.body.id, made.body.owner_id, made.body.managed_by, made.body.trust],
    [201, "mcp:acme.github", "person:ada", "registry", "pinned"],
  );
  const before = (await world.reader.version()).version;
  assert.equal((await call("POST", "/services", service)).status, 200);
  assert.equal((await world.reader.version()).version, before, "the same again is no version");
  const moved = await call("POST", "/services", { ...service, url: "https://new.github.example/mcp", owner_id: "person:ben" });
  assert.deepEqual(
    [moved.status, moved.body.url, moved.body.owner_id, moved.headers.get("etag")],
    [200, "https://new.github.example/mcp", "person:ben", '"2"'],
  );
  const owners = await call("GET", "/api/v1/identity_nodes/mcp:acme.github/relationships?type=OWNS_RESOURCE");
  assert.deepEqual(
    owners.body.relationships
      .map((one: { node: { id: string }; properties: { level: string } }) => [one.node.id, one.properties.level])
      .toSorted(),
    [
      ["person:ada", "deputy"],
      ["person:ben", "primary"],
    ],
  );
  assert.deepEqual((await call("GET", "/services/by-name/github")).body, (await call("GET", "/services/mcp:acme.github")).body);
  const list = await call("GET", "/services?service_type=external&limit=1");
  assert.deepEqual([list.body.total, list.body.services.length, list.body.has_more], [2, 1, true]);
  for (const [query, ids] of [
    ["provider=GitHub", ["mcp:acme.github"]],
    ["search=GITH", ["mcp:acme.github"]],
    ["search=%25", []],
    ["state=disabled", []],
    ["is_backend=false&service_type=mcp", ["memory.demo"]],
  ] as const)
    assert.deepEqual([query, (await call("GET", `/services?${query}`)).body.services.map(({ id }: { id: string }) => id)], [query, ids]);
  // Another tenant has a service of that name too, and sees none of this one.
  assert.deepEqual((await call("GET", "/services/by-name/github", undefined, "eve")).status, 404);
  assert.equal((await call("POST", "/services", service, "eve")).body.id, "mcp:globex.github");
});

test("a person owns what it registers and stands in the record as a person, whatever its id looks like; a client in its own name does neither", async (t) => {
  const identity = testIdentity();
  const world = await servedWorld(t, await testDatabase(t, graphModules), { identity });
  await world.put({ kind: "Person", id: "00u1a2b3", name: "Mira", tenant_id: "tenant:acme" });
  const put = async (sub: string, clientId: string) => {
    const token = await identity.tokenFor({ sub, tenant: "tenant:acme", scopes, clientId });
    const made = await world.service.fetch(
      new Request(`http://localhost:8084${MCP}/services`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ ...service, name: `of-${sub}` }),
      }),
    );
    assert.equal(made.status, 201, await made.clone().text());
    return [((await made.json()) as { readonly owner_id?: string }).owner_id, world.entries.at(-1)?.actor.kind];
  };
  assert.deepEqual(await put("00u1a2b3", "sallyport-web"), ["00u1a2b3", "person"]);
  assert.deepEqual(await put("ci-runner", "ci-runner"), [undefined, "service"]);
});

test("tools, resources and prompts are registered by name, with the digest of their definition", async (t) => {
  const { world, call } = await served(t);
  await call("POST", "/services", service);
  const tools = "/services/mcp:acme.github/tools";
  const tool = { name: "create_issue", title: "Create an issue", inputSchema: { type: "object" }, annotations: { readOnlyHint: false } };
  const made = await call("POST", tools, tool);
  assert.deepEqual(
    [made.status, made.body.id, made.body.state, made.body.inputSchema],
    [201, "github.create_issue", "approved", { type: "object" }],
  );
  assert.match(made.body.definition_digest, /^[0-9a-f]{64}$/);
  const { definition_digest } = made.body;
  const again = await call("POST", tools, {
    ...tool,
    name: "github.create_issue",
    input_schema: tool.inputSchema,
    inputSchema: undefined,
    definition_digest,
  });
  assert.deepEqual([again.status, again.body.definition_digest], [200, definition_digest]);
  assert.equal((await call("POST", tools, { ...tool, title: "Other", definition_digest })).body.code, "digest_mismatch");
  const changed = await call("POST", tools, { tools: [{ ...tool, title: "Other" }, { name: "list_issues" }], reason: "two at once" });
  assert.deepEqual([changed.status, changed.body.tools.length], [201, 2]);
  assert.notEqual(changed.body.tools[0].definition_digest, definition_digest);
  assert.equal((await call("GET", `${tools}?limit=1`)).body.total, 2);
  for (const name of ["github.create_issue", "github_create_issue"])
    assert.equal((await call("GET", `/tools/by-name/${name}`)).body.id, "github.create_issue");
  await world.put({ id: "github_create.issue", kind: "Tool", name: "x", tenant_id: "tenant:acme", props: {} });
  const ambiguous = await call("GET", "/tools/by-name/github_create_issue");
  assert.deepEqual(
    [ambiguous.status, ambiguous.body.code, ambiguous.body.ids],
    [409, "ambiguous_name", ["github.create_issue", "github_create.issue"]],
  );

  const read = { etag: '"7"', last_modified: "2026-01-02T03:04:05.000Z", size: 7 };
  const resource = await call("POST", "/services/mcp:acme.github/resources", {
    uri: "repo://one",
    mimeType: "text/plain",
    ...read,
    reason: "One to read",
  });
  const { id: resourceId, definition_digest: resourceDigest, ...rest } = resource.body;
  assert.deepEqual(
    [resource.status, rest],
    [201, { uri: "repo://one", name: "repo://one", mime_type: "text/plain", ...read, service_id: "mcp:acme.github", state: "approved" }],
  );
  assert.deepEqual([resourceId.length, resourceDigest.length], [33, 64]);
  assert.match(resource.body.id, /^mcpres:[a-z2-7]{26}$/);
  assert.equal(
    (await call("POST", "/services/mcp:acme.github/resources", { uri: "repo://one", mimeType: "text/html" })).body.id,
    resource.body.id,
  );
  const prompts = {
    prompts: [
      { name: "review", arguments: [{ name: "pr" }] },
      { name: "review", version: "2" },
    ],
  };
  assert.equal((await call("POST", "/services/mcp:acme.github/prompts", prompts)).body.prompts.length, 2);
  assert.deepEqual((await call("GET", "/services/mcp:acme.github")).body.counts, { tools: 2, resources: 1, prompts: 2 });
  const alone = await call("POST", "/services/mcp:acme.github/prompts", {
    name: "review",
    arguments: [{ name: "pr" }],
    reason: "Once more",
  });
  assert.deepEqual([alone.status, alone.body.version, alone.body.arguments], [200, "1", [{ name: "pr" }]]);
  assert.equal((await call("POST", tools, { name: "list_issues", reason: "Once more" })).status, 200);
  assert.deepEqual(
    world.entries.slice(-2).map(({ data }) => [data["op"], data["reason"]]),
    [
      ["registry_put_prompts", "Once more"],
      ["registry_put_tools", "Once more"],
    ],
  );
  for (const [path, list, total] of [
    ["/services", "services", 4],
    [tools, "tools", 2],
    ["/services/mcp:acme.github/resources", "resources", 1],
    ["/services/mcp:acme.github/prompts", "prompts", 2],
  ] as const) {
    const behind = (await call("GET", `${path}?skip=${total}&limit=5`)).body;
    assert.deepEqual([path, behind[list], behind.total, behind.has_more], [path, [], total, false]);
  }

  for (const [what, path, body, status, code] of [
    ["a schema from elsewhere", tools, { name: "x", inputSchema: { $ref: "https://evil.example/s.json" } }, 422, "schema_refused"],
    ["a schema too long", tools, { name: "x", inputSchema: { description: "y".repeat(65_536) } }, 422, "schema_refused"],
    ["a name with a slash", tools, { name: "a/b" }, 422, "invalid_body"],
    ["twice in one batch", tools, { tools: [{ name: "x" }, { name: "github.x" }] }, 409, "conflict"],
    ["a tool of nobody's service", "/services/mcp:acme.gitlab/tools", { name: "x" }, 404, "not_found"],
    ["a tool of what is no service", "/services/group:analysts/tools", { name: "x" }, 404, "not_found"],
    ["a tool of a shared service", "/services/people.demo/tools", { name: "x" }, 403, "access_denied"],
    ["a tool of Sallyport's own system", "/services/memory.demo/tools", { name: "x" }, 409, "managed_elsewhere"],
    ["a member that there is not", tools, { name: "x", command: "rm" }, 422, "unknown_member"],
    ["a command in a service", "/services", { ...service, command: "rm -rf" }, 422, "unknown_member"],
    ["a secret where its URI belongs", "/services", { ...service, credential_ref: "hunter2" }, 422, "invalid_body"],
    ["a file for a URL", "/services", { ...service, url: "file:///etc/passwd" }, 422, "invalid_body"],
    ["an owner who is not there", "/services", { ...service, owner_id: "person:nobody" }, 422, "unprocessable"],
    ["an owner of another tenant", "/services", { ...service, owner_id: "person:eve" }, 422, "unprocessable"],
  ] as const) {
    const reply = await call("POST", path, body);
    assert.deepEqual([what, reply.status, reply.body.code], [what, status, code]);
  }

  // What is wrong is told at the member that was sent.
  await call("POST", "/services", service, "eve");
  await call("POST", "/services/mcp:globex.github/tools", { name: "theirs" }, "eve");
  await call("POST", "/services", { ...service, name: "github.other.more" });
  await call("POST", tools, { name: "other.more.x" });
  for (const [path, body, places] of [
    ["/services", { ...service, owner_id: "person:nobody" }, ["/owner_id"]],
    ["/services", { ...service, owner_id: "group:analysts", id: "people.demo" }, ["/id"]],
    [tools, { name: "theirs" }, ["/name"]],
    [tools, { tools: [{ name: "mine" }, { name: "theirs" }] }, ["/tools/1/name"]],
    ["/services/mcp:acme.github.other.more/tools", { tools: [{ name: "x" }] }, ["/tools/0"]],
  ] as const) {
    const reply = await call("POST", path, body);
    assert.deepEqual([path, body, reply.body.errors?.map((issue: { path: string }) => issue.path)], [path, body, places]);
  }
});

test("what the registry does not say of what is there stays, and what a definition has no more goes", async (t) => {
  const { world, call } = await served(t);
  const provided = "/services/mcp:acme.github";
  const sent = {
    service: { ...service, display_name: "GitHub", credential_ref: "yaml://secret/github#key" },
    tool: { name: "a", title: "A", version: "1", risk: "low", annotations: { readOnlyHint: true } },
    resource: { uri: "repo://one", description: "One", etag: '"7"', size: 7, annotations: { audience: ["user"] } },
    prompt: { name: "review", description: "Look at it", content: "Look." },
  };
  const posted: Readonly<Record<keyof typeof sent, string>> = {
    service: "/services",
    tool: `${provided}/tools`,
    resource: `${provided}/resources`,
    prompt: `${provided}/prompts`,
  };
  const ids = new Map<string, string>();
  const names = Object.keys(sent) as (keyof typeof sent)[];
  for (const name of names) ids.set(name, (await call("POST", posted[name], sent[name])).body.id);
  const masks = [{ column: "token", kind: "drop" }];
  const set: Readonly<Record<keyof typeof sent, Record<string, unknown>>> = {
    service: { state: "suspended", external_id: "s-1", props: { description: "Theirs" } },
    tool: {
      display_name: "Tool A",
      external_id: "t-1",
      props: { mfa: true, resource_type: "issue", masks, risk: "high", schema_hash: "h" },
    },
    resource: { display_name: "The one", props: { discovered_by: "ada" } },
    prompt: { display_name: "The review", props: { origin_hash: "h" } },
  };
  const nodeOf = async (name: string) => (await call("GET", `/api/v1/identity_nodes/${ids.get(name)}`)).body;
  for (const name of names)
    assert.equal((await call("PATCH", `/api/v1/nodes/${ids.get(name)}`, set[name], "ada", { "if-match": "*" })).status, 200, name);
  const kept = new Map<string, { display_name: string; external_id: string; state: string; properties: Record<string, unknown> }>();
  for (const name of names) kept.set(name, await nodeOf(name));
  const before = (await world.reader.version()).version;
  const { risk: _risk, version: _version, ...sameTool } = sent.tool;
  const least = { name: service.name, service_type: service.service_type };
  for (const [name, body] of [
    ["service", least],
    ["tool", sameTool],
    ["resource", { uri: sent.resource.uri, description: "One" }],
    ["prompt", { name: "review", description: "Look at it" }],
  ] as const) {
    const reply = await call("POST", posted[name], body);
    assert.deepEqual([name, reply.status, await nodeOf(name)], [name, 200, kept.get(name)]);
  }
  assert.equal((await world.reader.version()).version, before, "and is no version");

  // Another definition, and none of the members that it had.
  for (const [name, body, gone] of [
    ["tool", { name: "a" }, ["title", "annotations"]],
    ["resource", { uri: sent.resource.uri }, ["description"]],
    ["prompt", { name: "review" }, ["description"]],
  ] as const) {
    assert.equal((await call("POST", posted[name], body)).status, 200, name);
    const [was, is] = [kept.get(name), await nodeOf(name)];
    const { definition_digest: old, ...props } = was?.properties ?? {};
    const { definition_digest: now, ...left } = is.properties;
    assert.notEqual(now, old, name);
    assert.deepEqual(left, Object.fromEntries(Object.entries(props).filter(([prop]) => !gone.some((one) => one === prop))), name);
    assert.deepEqual([is.display_name, is.external_id, is.state], [was?.display_name, was?.external_id, was?.state], name);
  }
});

test("a capability that names no definition is for the one in force, where the tool's service is pinned", async (t) => {
  const { world, call } = await served(t);
  await call("POST", "/services", service);
  await call("POST", "/services", { ...service, name: "trusted", trust: "operator" });
  await call("POST", "/services", { ...service, name: "theirs" }, "eve");
  for (const name of ["github", "trusted"]) await call("POST", `/services/mcp:acme.${name}/tools`, { name: "a" });
  const tool = (id: string, service_id?: string) =>
    ({
      id,
      kind: "Tool",
      name: id,
      tenant_id: "tenant:acme",
      digest: "d1",
      props: service_id === undefined ? {} : { service_id },
    }) as const;
  await world.put(tool("alone.a"), tool("github.b"), tool("foreign.a", "mcp:globex.theirs"));
  await world.put({ kind: "PROVIDES", src: "mcp:acme.github", dst: "github.b" });
  const digestOf = async (id: string): Promise<string> => (await call("GET", `/tools/${id}`)).body.definition_digest;
  const edge = (id: string): string => `/api/v1/edges/HAS_CAPABILITY/agent:hr-assistant/${id}`;
  const give = (id: string, more = {}): Promise<Reply> => call("PUT", edge(id), { props: { granted_by: "person:ada" }, ...more });
  const old = await digestOf("github.a");
  for (const [id, digest] of [
    ["github.a", old],
    ["github.b", "d1"],
    ["trusted.a", null],
    ["alone.a", null],
    ["foreign.a", null],
  ] as const) {
    const given = await give(id);
    assert.deepEqual([id, given.status, given.body.digest], [id, 201, digest]);
    assert.equal((await give(id)).headers.get("x-graph-version"), given.headers.get("x-graph-version"), "the same again is no version");
  }
  await world.sql("update membership.delegation set capabilities = null where id = 'delegation:ben-hr'");
  const able = async (): Promise<readonly string[]> => {
    const { body } = await world.call("service:pdp", "GET", "/api/v1/pip/membership/capabilities?user_id=person:ben");
    return ["github.a", "trusted.a"].filter((id) => body.capabilities.includes(id));
  };
  assert.deepEqual(await able(), ["github.a", "trusted.a"]);
  for (const name of ["github", "trusted"]) await call("POST", `/services/mcp:acme.${name}/tools`, { name: "a", title: "Another" });
  assert.deepEqual(await able(), ["trusted.a"]);
  assert.equal((await give("github.a", { digest: old })).body.digest, old, "what is named is kept");
  const anew = await give("github.a");
  assert.deepEqual([anew.status, anew.body.digest], [200, await digestOf("github.a")]);
  assert.deepEqual(await able(), ["github.a", "trusted.a"]);
});

test("a published server.json is a service, by its whole name and where it is to be reached", async (t) => {
  const { call } = await served(t);
  const published = {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: "com.example/analytics",
    title: "Analytics",
    description: "Numbers as they come in",
    version: "2.0.0",
    remotes: [
      { type: "sse", url: "https://analytics.example.com/sse" },
      { type: "streamable-http", url: "https://analytics.example.com/mcp", headers: [{ name: "Authorization", isSecret: true }] },
    ],
    packages: [{ registryType: "npm", identifier: "@example/analytics", version: "2.0.0", transport: { type: "stdio" } }],
    _meta: { "io.modelcontextprotocol.registry/publisher-provided": { build: 7 } },
  };
  assert.equal((await call("POST", "/services", { ...published, credential_ref: "hunter2" })).status, 422);
  const made = await call("POST", "/services", { ...published, owner_id: "person:ben", credential_ref: "yaml://secret/analytics#key" });
  const { counts: _counts, tenant_id: _tenant, created_at: _made, updated_at: _written, ...rest } = made.body;
  assert.deepEqual(
    [made.status, rest],
    [
      201,
      {
        id: "mcp:acme.com.example.analytics",
        name: "com.example.analytics",
        registry_name: "com.example/analytics",
        display_name: "Analytics",
        description: "Numbers as they come in",
        version: "2.0.0",
        service_type: "external",
        supported_protocols: ["sse", "streamable-http", "stdio"],
        url: "https://analytics.example.com/mcp",
        sse_url: "https://analytics.example.com/sse",
        owner_id: "person:ben",
        credential_ref: "yaml://secret/analytics#key",
        trust: "pinned",
        managed_by: "registry",
        state: "active",
      },
    ],
  );
  const next = await call("POST", "/services", { ...published, version: "2.1.0", owner_id: "person:ben" });
  assert.deepEqual([next.status, next.body.id, next.body.version], [200, made.body.id, "2.1.0"]);
  for (const [what, body, path] of [
    ["a name without a domain", { ...published, name: "analytics" }, "/name"],
    ["a URL that is none", { ...published, remotes: [{ type: "sse", url: "file:///etc/passwd" }] }, "/remotes/0/url"],
    ["a way that there is not", { ...published, remotes: [{ type: "pigeon" }] }, "/remotes/0/type"],
    ["no version", { ...published, version: undefined }, "/version"],
    ["a service without a type", { ...service, service_type: undefined }, "/service_type"],
  ] as const) {
    const reply = await call("POST", "/services", body);
    assert.deepEqual([what, reply.status, reply.body.errors?.map((one: { path: string }) => one.path)], [what, 422, [path]]);
  }
});

test("a tool is retired and explained, a service goes with all it provides unless agents have it", async (t) => {
  const { world, call } = await served(t);
  await call("POST", "/services", service);
  await call("POST", "/services/mcp:acme.github/tools", { tools: [{ name: "a" }, { name: "b" }] });
  const put = await call("PUT", "/api/v1/edges/HAS_CAPABILITY/agent:reporter/github.a", { props: { granted_by: "person:ada" } });
  assert.equal(put.status, 201);
  const held = await call("DELETE", "/services/mcp:acme.github");
  assert.deepEqual([held.status, held.body.code, held.body.agents], [409, "in_use", ["agent:reporter"]]);
  assert.equal((await call("DELETE", "/tools/github.a?reason=old%20one")).status, 204);
  assert.equal((await call("GET", "/tools/github.a")).body.state, "retired");
  await call("POST", "/services/mcp:acme.github/tools", { name: "a" });
  assert.equal((await call("GET", "/tools/github.a")).body.state, "retired", "registering it again is nobody's approval");
  assert.equal((await call("DELETE", "/tools/github.b?purge=true")).status, 204);
  assert.equal((await call("GET", "/tools/github.b")).status, 404);
  const before = Number((await world.reader.version()).version);
  assert.equal((await call("DELETE", "/services/mcp:acme.github?force=true")).status, 204);
  assert.equal(Number((await world.reader.version()).version), before + 1, "one version");
  for (const path of ["/services/mcp:acme.github", "/tools/github.a"]) assert.equal((await call("GET", path)).status, 404);
  for (const path of ["/services/people.demo?force=true", "/tools/people.demo.get_employee", "/tools/system.health?purge=true"])
    assert.deepEqual([path, (await call("DELETE", path)).body.code], [path, "access_denied"]);
});

test("tools are retired many at once in one version, those of nobody and of others are passed over", async (t) => {
  const { world, call } = await served(t);
  await call("POST", "/services", service);
  const names = Array.from({ length: 450 }, (_none, index) => `tool_${index}`);
  await call("POST", "/services/mcp:acme.github/tools", { tools: names.map((name) => ({ name })) });
  const ids = names.map((name) => `github.${name}`);
  assert.equal((await call("POST", "/services", service, "eve")).status, 201);
  await call("POST", "/services/mcp:globex.github/tools", { name: "github.theirs" }, "eve");
  const version = async (): Promise<number> => Number((await world.reader.version()).version);
  const before = await version();
  const retired = await call("POST", "/tools/retire", { tool_ids: [...ids, "github.never", "github.theirs", "person:ben", ids[0]] });
  assert.deepEqual([retired.status, retired.body.retired.toSorted()], [200, ids.toSorted()]);
  assert.equal(await version(), before + 1, "one version");
  assert.deepEqual(world.entries.at(-1)?.data?.["op"], "registry_retire_tools");
  assert.deepEqual(
    await world.sql("select state, count(*)::int as count from membership.node where kind = 'Tool' and id like 'github.%' group by state"),
    [
      { state: "approved", count: 1 },
      { state: "retired", count: 450 },
    ],
  );
  assert.equal((await call("POST", "/tools/retire", { tool_ids: ids })).body.retired.length, 450);
  assert.equal(await version(), before + 1, "the same again is no version");
  const shared = await call("POST", "/tools/retire", { tool_ids: ["github.tool_1", "people.demo.get_employee"] });
  assert.deepEqual([shared.status, shared.body.code], [403, "access_denied"]);
  assert.deepEqual([(await call("POST", "/tools/retire", { tool_ids: [] })).status], [422]);
});

test("what a changed definition would switch off is told by delegation, of the caller's tenant alone", async (t) => {
  const { world, call } = await served(t);
  await call("POST", "/services", service);
  const made = await call("POST", "/services/mcp:acme.github/tools", { tools: [{ name: "a" }, { name: "b" }, { name: "c" }] });
  const digests = new Map<string, string>(
    made.body.tools.map((one: { id: string; definition_digest: string }) => [one.id, one.definition_digest]),
  );
  const give = async (tool: string): Promise<void> => {
    const put = await call("PUT", `/api/v1/edges/HAS_CAPABILITY/agent:hr-assistant/${tool}`, { props: { granted_by: "person:ada" } });
    assert.equal(put.status, 201);
  };
  await give("github.a");
  await give("github.b");
  await world.sql("update membership.edge set digest = null where kind = 'HAS_CAPABILITY' and dst = 'github.b'");
  await world.sql(
    "update membership.delegation set capabilities = array['github.a', 'github.b', 'github.c'] where id = 'delegation:ben-hr'",
  );
  const other = "f".repeat(64);
  const affected = async (tools: Readonly<Record<string, string | null | undefined>>, as = "ada"): Promise<unknown> => {
    const asked = Object.entries(tools).map(([tool_id, definition_digest]) => ({ tool_id, definition_digest }));
    const { status, body } = await call("POST", "/tools/affected", { tools: asked }, as);
    assert.equal(status, 200, JSON.stringify(body));
    return body.affected.map(
      (one: { delegation_id: string; user_id: string; tool_id: string }) => `${one.delegation_id} of ${one.user_id} ${one.tool_id}`,
    );
  };
  const ben = "delegation:ben-hr of person:ben";
  for (const [what, tools, expected] of [
    ["another definition of a pinned one", { "github.a": other }, [`${ben} github.a`]],
    ["the same definition", { "github.a": digests.get("github.a") }, []],
    ["another definition of one that is not pinned", { "github.b": other }, []],
    ["both go", { "github.a": null, "github.b": null, "github.c": null }, [`${ben} github.a`, `${ben} github.b`]],
    ["what nobody has", { "github.c": other, "github.never": null }, []],
  ] as const)
    assert.deepEqual([what, await affected(tools)], [what, expected]);
  assert.deepEqual(await affected({ "github.a": null }, "eve"), [], "another tenant's are not there");
  await world.sql("update membership.delegation set capabilities = '{}' where id = 'delegation:ben-hr'");
  assert.deepEqual(await affected({ "github.a": null }), [], "a delegation that names other tools");
  await world.sql("update membership.delegation set capabilities = null where id = 'delegation:ben-hr'");
  assert.deepEqual(await affected({ "github.a": null }), [`${ben} github.a`], "one that gives all");
  await world.sql("update membership.delegation set status = 'paused', hold = 'manual' where id = 'delegation:ben-hr'");
  assert.deepEqual(await affected({ "github.a": null }), [], "one that is paused");
});
