import assert from "node:assert/strict";
import { cp, mkdtemp, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import type { ConfigWritten } from "#contract/configs.ts";
import { agent, crudInstance, replayed, type CrudInstance } from "#testing/crud-instance.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { startChild } from "#testing/child.ts";
import { printJson } from "#parsing/yaml-document.ts";
import { statement } from "#store/database.ts";
import { createPglite } from "#store/pglite.ts";
import { silentLog } from "#telemetry/log.ts";
import { until } from "#testing/until.ts";

const STATES_REPORTED = statement<{ type: string; data: Record<string, unknown> }>(
  "testing.states_told",
  "select type, data from events.outbox where tenant = 'tenant:acme' and type in ('config.degraded', 'config.repaired') order by seq",
);
const scopes = ["config.read", "config.write", "mcp.tools.discovery", "mcp.tools.invoke"];
const ada = { sub: "person:ada", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };

const document = (
  more: { readonly instance?: string; readonly tenants?: string; readonly description?: string; readonly extra?: string } = {},
): string =>
  `# Written by hand; this line stays.
apiVersion: systems/v1
provider: staff
instance: ${more.instance ?? "book"}
title: Staff book
owner: group:people-ops
${more.tenants ?? "tenants: [tenant:acme]"}
kind: http
baseUrl: "\${DEMO_UPSTREAM_URL}/api"
network: { allow: [127.0.0.1/32] }
auth: { type: api_key, in: header, name: X-Api-Key, value: "yaml://secret/people/demo#api_key" }
defaults: { dataScope: none }
operations:
  get_one:
    description: ${more.description ?? "Shows one employee by id."}
    request: { method: GET, path: "/employees/{id}" }
    input: { type: object, required: [id], properties: { id: { type: string } } }
${more.extra ?? ""}`;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
  readonly body: any;
}

const client =
  (instance: CrudInstance) =>
  async (
    method: string,
    path: string,
    more: { readonly raw?: string; readonly body?: unknown; readonly as?: object; readonly headers?: Record<string, string> } = {},
  ): Promise<Answer> => {
    const type: Record<string, string> = more.raw === undefined ? {} : { "content-type": "application/yaml" };
    const { headers, ...rest } = more;
    const response = await instance.request(path, { method, as: ada, ...rest, headers: { ...type, ...headers } });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: response.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) : text,
    };
  };

const callOf = (instance: CrudInstance, name: string, as: object = agent) =>
  instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: { id: "e1" } } }, { as });

test("a document written by hand is tried, published, called at once, changed, rolled back and taken away", async (t) => {
  const instance = await crudInstance(t, { realEvents: true, settings: { TOOLS_NETWORK_CEILING: "127.0.0.0/8,::1/128,10.0.0.0/8" } });
  const ask = client(instance);
  instance.membership.capabilities = ["staff.book.get_one"];
  const text = document();

  const tried = await ask("POST", "/config/systems?dryRun=true", { raw: text });
  assert.deepEqual([tried.status, tried.body.valid, tried.body.errors], [200, true, []], JSON.stringify(tried.body));
  assert.deepEqual(tried.body.diff.tools_added, ["staff.book.get_one"]);
  assert.deepEqual(tried.body.diff.secrets_added, ["yaml://secret/people/demo#api_key"]);
  assert.deepEqual(tried.body.diff.views_changed, ["staff", "staff-book"]);
  assert.equal((await ask("GET", "/config/systems/staff.book")).status, 404);
  assert.equal((await callOf(instance, "staff.book.get_one")).body.error?.data.code, "unknown_tool");

  const made = await ask("POST", "/config/systems?reason=first+try", { raw: text });
  assert.deepEqual([made.status, made.body.name, made.body.version, made.headers.get("etag")], [201, "staff.book", 1, made.body.etag]);
  assert.match(made.body.etag, /^"1-[0-9a-f]{12}"$/);
  // The graph knows service and tool, in the publisher's own name and approved by whom the policies let approve.
  const registered = instance.asked.membership.filter(({ path }) => path.includes("/mcp/services"));
  assert.deepEqual(
    registered.map(({ path, headers }) => [decodeURIComponent(path), headers.get("authorization") !== null]),
    [
      ["/api/v1/mcp/services", true],
      ["/api/v1/mcp/services/mcp:acme.staff.book/tools", true],
    ],
  );
  assert.deepEqual((registered[0]?.body as { owner_id: string } | undefined)?.owner_id, "group:people-ops");
  const drafts = registered[1]?.body as { tools: { name: string; definition_digest: string; state: string }[] } | undefined;
  const draft = drafts?.tools[0];
  assert.deepEqual(draft, {
    ...draft,
    name: "staff.book.get_one",
    definition_digest: instance.crud.catalogue.snapshot.digests.get("staff.book.get_one"),
    state: "approved",
  });
  assert.deepEqual(made.body.warnings, []);
  const called = await callOf(instance, "staff.book.get_one");
  assert.equal(called.body.error, undefined, JSON.stringify(called.body));
  assert.match(called.body.result.content[0]?.text ?? "", /"e1"/);

  // The very same again is no version.
  assert.deepEqual((await ask("PUT", "/config/systems/staff.book", { raw: text })).body.version, 1);
  const bytes = await ask("GET", "/config/systems/staff.book", { headers: { accept: "application/yaml" } });
  assert.deepEqual([bytes.body, bytes.headers.get("etag")], [text, made.body.etag]);
  const read = await ask("GET", "/config/systems/staff.book");
  assert.deepEqual(
    [read.body.author, read.body.reason, read.body.state, read.body.document.title],
    ["person:ada", "first try", "serving", "Staff book"],
  );

  const changed = document({ description: "Shows one person of the staff by id." });
  const stale = await ask("PUT", "/config/systems/staff.book", { raw: changed, headers: { "if-match": '"9-000000000000"' } });
  assert.deepEqual([stale.status, stale.body.code, stale.body.current], [412, "stale_version", made.body.etag]);
  const second = await ask("PUT", "/config/systems/staff.book", { raw: changed, headers: { "if-match": made.body.etag } });
  assert.equal(second.status, 200, JSON.stringify(second.body));
  const { diff } = second.body as ConfigWritten;
  assert.deepEqual(
    diff.tools_changed.map(({ name, digest, changes }) => [
      name,
      digest.before !== digest.after,
      changes.map(({ path, kind, risk }) => [path, kind, risk]),
    ]),
    [["staff.book.get_one", true, [["/description", "text", "review"]]]],
  );
  assert.deepEqual(diff.settings_changed, []);
  const wider = changed
    .replace("[127.0.0.1/32]", "[127.0.0.1/32, 10.0.0.0/8]")
    .replace("X-Api-Key", "X-Key")
    .replace('path: "/employees/{id}"', 'path: "/salaries/{id}"')
    .replace("title: Staff", "env: prod\ntitle: Staff");
  const dry = await ask("PUT", "/config/systems/staff.book?dryRun=true", { raw: wider });
  assert.deepEqual(
    (dry.body as ConfigWritten).diff.settings_changed.map(({ path, before, after, risk }) => [path, before, after, risk]),
    [
      ["/network/allow/1", undefined, "10.0.0.0/8", "review"],
      ["/auth/name", "X-Api-Key", "X-Key", "review"],
      ["/env", undefined, "prod", "review"],
      ["/operations/get_one/request/path", "/employees/{id}", "/salaries/{id}", "review"],
    ],
    JSON.stringify(dry.body),
  );
  assert.equal(
    (await ask("PUT", "/config/systems/staff.book", { raw: text, headers: { "if-none-match": "*" } })).body.code,
    "already_exists",
  );
  const twice = await ask("POST", "/config/systems", { raw: text });
  assert.deepEqual(
    [twice.body.code, twice.body.detail],
    ["already_exists", "staff.book: its next version is PUT /config/systems/staff.book."],
  );

  const back = await ask("POST", "/config/systems/staff.book/rollback", { body: { version: 1, reason: "worse" } });
  assert.deepEqual([back.status, back.body.version], [200, 3]);
  const versions = await ask("GET", "/config/systems/staff.book/versions?limit=2");
  assert.deepEqual(
    versions.body.versions.map(({ version, reason, restored_from }: { version: number; reason: string; restored_from?: number }) => [
      version,
      reason,
      restored_from,
    ]),
    [
      [3, "worse", 1],
      [2, "", undefined],
    ],
  );
  const older = await ask("GET", `/config/systems/staff.book/versions?limit=2&cursor=${versions.body.nextCursor}`);
  assert.deepEqual([older.body.versions.length, older.body.nextCursor], [1, undefined]);
  assert.equal((await ask("GET", "/config/systems/staff.book/versions/2")).body, changed);
  assert.equal((await ask("GET", "/config/systems/staff.book/versions/9")).body.code, "version_not_found");
  assert.deepEqual((await ask("GET", "/config/systems/staff.book/diff?from=1&to=2")).body, {
    from: 1,
    to: 2,
    changes: [
      {
        path: "/operations/get_one/description",
        op: "replace",
        before: "Shows one employee by id.",
        after: "Shows one person of the staff by id.",
      },
    ],
    files_changed: [],
    truncated: false,
  });
  for (const [query, code] of [
    ["from=1&to=9", "version_not_found"],
    ["from=1", "unprocessable"],
    ["from=0&to=1", "unprocessable"],
  ] as const)
    assert.equal((await ask("GET", `/config/systems/staff.book/diff?${query}`)).body.code, code);
  assert.deepEqual((await ask("GET", "/config/tools/diff?from=1&to=1")).body.changes, []);

  const gone = await ask("DELETE", "/config/systems/staff.book?reason=no+more", { headers: { "if-match": back.body.etag } });
  assert.deepEqual([gone.status, gone.body.version, gone.body.diff.tools_removed], [200, 4, ["staff.book.get_one"]]);
  const retiring = instance.asked.membership.at(-1);
  assert.deepEqual(
    [retiring?.path, retiring?.body],
    ["/api/v1/mcp/tools/retire", { tool_ids: ["staff.book.get_one"], reason: "Published by its system" }],
  );
  assert.equal((await callOf(instance, "staff.book.get_one")).body.error?.data.code, "unknown_tool");
  assert.equal((await ask("GET", "/config/systems/staff.book")).status, 404);
  assert.equal((await ask("DELETE", "/config/systems/staff.book")).status, 404);
  // What was taken away is listed only where it is asked for, and to whom it was there.
  const deleted = async (query: string, more: object = {}) =>
    ((await ask("GET", `/config/systems${query}`, more)).body.systems as { name: string; state: string; version: number; tools: number }[])
      .filter(({ name }) => name === "staff.book")
      .map(({ state, version, tools }) => [state, version, tools]);
  assert.deepEqual(await deleted("?state=deleted"), [["deleted", 4, 0]]);
  for (const query of ["", "?state=serving", "?state=off"]) assert.deepEqual(await deleted(query), [], query);
  assert.deepEqual(await deleted("?state=deleted", { as: eve }), []);
  assert.equal((await ask("POST", "/config/systems/staff.book/rollback", { body: { version: 1 } })).body.version, 5);
  assert.equal((await callOf(instance, "staff.book.get_one")).body.error, undefined);

  const stop = new AbortController();
  const stream = await instance.crud.fetch(
    new Request("http://sallyport.internal/events/config?last_event_id=0&kind=config", {
      headers: { authorization: `Bearer ${await instance.token({ sub: "person:ada" })}` },
      signal: stop.signal,
    }),
  );
  let reported = "";
  for await (const chunk of stream.body ?? []) {
    reported += Buffer.from(chunk as Uint8Array).toString();
    if (reported.includes('"version":5')) break;
  }
  stop.abort();
  assert.deepEqual(
    [...reported.matchAll(/"op":"([a-z_]+)"/g)].map(([, op]) => op),
    ["created", "updated", "rolled_back", "deleted", "rolled_back"],
  );
});

test("what does not fit is refused with every issue at its place, and changes nothing", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  const good = document();
  const lineOf = (text: string, needle: string): number => text.split("\n").findIndex((line) => line.includes(needle)) + 1;
  const replaced = (from: string, to: string): string => good.replace(from, to);
  const rows: readonly (readonly [name: string, text: string, says: RegExp, at?: string])[] = [
    ["an unknown member", replaced("title:", "titel:"), /is not known here/, "titel:"],
    ["a title with a line break", replaced("title: Staff book", 'title: "Bookings\\n"'), /does not show/, "title:"],
    ["a title that turns around", replaced("title: Staff book", 'title: "Book\\u202eings"'), /does not show/, "title:"],
    ["a credential as it is", replaced("yaml://secret/people/demo#api_key", "plain"), /never written here/, "auth:"],
    ["a credential that is a number", replaced('"yaml://secret/people/demo#api_key"', "4711"), /string/, "auth:"],
    ["a planned sign-in", replaced("type: api_key", "type: token_exchange"), /token_exchange is not available/, "auth:"],
    ["a planned kind", replaced("kind: http", "kind: sql"), /no connector/, "kind:"],
    ["an address with a user", replaced('"${DEMO_UPSTREAM_URL}/api"', "http://a:b@127.0.0.1/"), /names a user/, "baseUrl:"],
    ["a setting that nobody fills", replaced("${DEMO_UPSTREAM_URL}", "${HOME}"), /no setting fills/, "baseUrl:"],
    ["an expression that is none", document({ extra: '    output: { select: "${ response. }" }\n' }), /./, "output:"],
    [
      "a file outside",
      document({ extra: "    output: { schema: { $ref: ../../../package.json } }\n" }),
      /a file of this folder/,
      "output:",
    ],
    ["another tenant", document({ tenants: "tenants: [tenant:acme, tenant:globex]" }), /tenant:globex, which is not yours/, "tenants:"],
    ["all tenants", document({ tenants: "" }), /serve every tenant/],
    ["not the writer's", document({ tenants: "tenants: [tenant:globex]" }), /not yours/, "tenants:"],
    ["an anchor", good.replace("Staff book", "&a Staff"), /anchors/, "title:"],
    ["a tab bomb", `a: ${"[".repeat(3000)}`, /nested deeper/],
    ["nothing", "", /./],
    ["a list", "[]", /must be one of/],
    ["no YAML", "a: [", /./],
    [
      "a command that may not be started",
      "apiVersion: systems/v1\nprovider: a\ninstance: b\ntitle: A\nowner: group:x\ntenants: [tenant:acme]\nkind: mcp\ntransport: { type: stdio, command: bash }\n",
      /bash/,
      "transport:",
    ],
    [
      "a server that is reached by its address",
      "apiVersion: systems/v1\nprovider: a\ninstance: b\ntitle: A\nowner: group:x\ntenants: [tenant:acme]\nkind: mcp\ntransport: { type: streamable_http, url: https://mcp.example }\n",
      /only stdio is available/,
      "transport:",
    ],
  ];
  const before = (await ask("GET", "/config/systems")).body;
  for (const [name, text, says, at] of rows) {
    const { status, body } = await ask("POST", "/config/systems", { raw: text });
    assert.ok(status === 422 || (name === "a planned kind" && status === 501), `${name}: ${status} ${JSON.stringify(body)}`);
    assert.match(body.errors.map(({ message }: { message: string }) => message).join("\n"), says, name);
    if (name.startsWith("a credential"))
      assert.deepEqual([body.errors[0].path, body.errors[0].code], ["/auth/value", "credential_literal"]);
    for (const issue of body.errors) assert.ok(issue.line >= 1 && issue.column >= 1 && typeof issue.path === "string", name);
    if (at !== undefined)
      assert.ok(
        body.errors.some(({ line }: { line: number }) => line === lineOf(text, at)),
        `${name}: ${JSON.stringify(body.errors)}`,
      );
    const tried = await ask("POST", "/config/systems?dryRun=true", { raw: text });
    assert.deepEqual([tried.status, tried.body.valid, tried.body.errors.length], [200, false, body.errors.length], name);
  }
  const media = await ask("POST", "/config/systems", { raw: good, headers: { "content-type": "text/html" } });
  assert.equal(media.status, 415);
  assert.equal((await ask("POST", "/config/systems", { raw: "x".repeat(262_145) })).status, 413);
  assert.equal((await ask("POST", "/config/systems", { raw: `${good}\0` })).body.code, "body_unreadable");
  assert.equal((await ask("PUT", "/config/systems/other.name", { raw: good })).body.errors[0].path, "/instance");
  assert.equal((await ask("PUT", "/config/systems/No.Name", { raw: good })).status, 404);
  assert.equal((await ask("POST", "/config/systems?dryrun=true", { raw: good })).body.code, "unknown_parameter");
  assert.equal((await ask("GET", "/config/systems?cursor=x")).body.code, "invalid_cursor");
  const now = (await ask("GET", "/config/systems")).body;
  assert.equal(now.set_version, before.set_version);
  assert.ok(!instance.crud.catalogue.snapshot.views.has("staff"));
  // JSON is taken too.
  const asJson = await ask("POST", "/config/systems", {
    raw: JSON.stringify({
      apiVersion: "systems/v1",
      provider: "j",
      instance: "son",
      title: "J",
      owner: "group:x",
      tenants: ["tenant:acme"],
      kind: "http",
      baseUrl: "https://api.example",
      defaults: { dataScope: "none" },
      operations: { one: { description: "Does one thing.", request: { method: "GET", path: "/" } } },
    }),
    headers: { "content-type": "application/json" },
  });
  assert.equal(asJson.status, 201, JSON.stringify(asJson.body));
});

test("each right is asked for, each scope needed, and another tenant's system is not there", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  assert.equal((await ask("POST", "/config/systems", { raw: document() })).status, 201);
  const requests: readonly (readonly [method: string, path: string, pair: string, scope: string, body?: object])[] = [
    ["GET", "/config/systems", "system:view", "config.read"],
    ["POST", "/config/systems", "system:edit", "config.write"],
    ["GET", "/config/systems/staff.book", "system:view", "config.read"],
    ["PUT", "/config/systems/staff.book", "system:edit", "config.write"],
    ["DELETE", "/config/systems/staff.book", "system:delete", "config.write"],
    ["GET", "/config/systems/staff.book/versions", "system:view", "config.read"],
    ["GET", "/config/systems/staff.book/versions/1", "system:view", "config.read"],
    ["POST", "/config/systems/staff.book/rollback", "system:edit", "config.write", { version: 1 }],
    ["GET", "/config/tools", "config:read", "config.read"],
    ["PUT", "/config/tools", "config:write", "config.write"],
    ["GET", "/config/tools/versions", "config:read", "config.read"],
    ["GET", "/config/tools/versions/1", "config:read", "config.read"],
    ["POST", "/config/tools/rollback", "config:write", "config.write", { version: 1 }],
    ["POST", "/config/reload", "deployment:reload_config", "config.write"],
  ];
  for (const [method, path, pair, scope, body] of requests) {
    const sent = body === undefined ? (method === "POST" || method === "PUT" ? { raw: document() } : {}) : { body };
    instance.verdicts.set(pair, false);
    assert.equal((await ask(method, path, sent)).body.code, "access_denied", `${method} ${path}`);
    instance.verdicts.delete(pair);
    const without = { ...ada, scopes: scopes.filter((one) => one !== scope) };
    assert.equal((await ask(method, path, { ...sent, as: without })).body.code, "insufficient_scope", `${method} ${path}`);
    assert.equal((await ask(method, path, { ...sent, as: { ...ada, ...agent } })).body.code, "person_required", `${method} ${path}`);
    if (!path.includes("staff.book")) continue;
    const other = await ask(method, path, { ...sent, as: eve });
    // Who would make one of that name learns that it is taken, and no more.
    const isMade = method === "PUT";
    assert.equal(other.status, isMade ? 409 : 404, `${method} ${path} ${JSON.stringify(other.body)}`);
    if (!isMade) continue;
    assert.deepEqual([other.body.code, other.body.detail], ["already_exists", "The name is taken: choose another name."]);
    const changed = await ask(method, path, { ...sent, as: eve, headers: { "if-match": '"1-000000000000"' } });
    assert.equal(changed.status, 404, JSON.stringify(changed.body));
  }
  const seen = async (as: object): Promise<readonly string[]> =>
    (await ask("GET", "/config/systems", { as })).body.systems.map(({ name }: { name: string }) => name);
  assert.deepEqual(await seen(ada), ["memory.demo", "people.demo", "sallyport.local", "staff.book"]);
  assert.deepEqual(await seen(eve), ["people.demo", "sallyport.local"]);
  // What serves several tenants is the operator's to change.
  for (const method of ["PUT", "DELETE"]) {
    const raw = (await ask("GET", "/config/systems/people.demo", { headers: { accept: "application/yaml" } })).body as string;
    const refused = await ask(method, "/config/systems/people.demo", method === "PUT" ? { raw: `${raw}\n# changed\n` } : {});
    assert.equal(refused.body.code, "cross_tenant", JSON.stringify(refused.body));
  }
  const views = (more: string): string => `apiVersion: tools/v1\nviews:\n  - { name: mine, ${more} filters: { provider: [people] } }\n`;
  const wide = await ask("PUT", "/config/tools", { raw: views("") });
  assert.deepEqual([wide.status, wide.body.errors[0].code, wide.body.errors[0].line], [422, "cross_tenant", 3]);
  for (const name of ["people", "people-demo", "workflows"]) {
    const taken = await ask("PUT", "/config/tools", { raw: views("tenants: [tenant:acme],").replace("name: mine", `name: ${name}`) });
    assert.deepEqual([name, taken.status, taken.body.errors?.[0]?.code], [name, 422, "cross_tenant"], "others see a view of this name");
  }
  const own = await ask("PUT", "/config/tools", { raw: views("tenants: [tenant:acme],") });
  assert.deepEqual([own.status, own.body.diff.views_changed], [200, ["mine"]], JSON.stringify(own.body));
  assert.equal((await instance.request("/mcp/mine/tools/list")).status, 200);
  assert.equal(
    (
      await ask("PUT", "/config/tools", {
        raw: "apiVersion: tools/v1\noverrides: { people.demo.get_employee: { enabled: false } }",
        as: eve,
      })
    ).body.errors[0].code,
    "cross_tenant",
  );
  assert.equal((await ask("POST", "/config/tools/rollback", { body: { version: 1 } })).status, 200);
  assert.equal((await instance.request("/mcp/mine/tools/list")).status, 404);
});

test("what serves other tenants too is changed by who runs the deployment, signed in strongly; who does not is refused at each way", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  const stepUp = { decision: false, reason: "step_up_required", obligations: [{ id: "mfa", type: "step-up", properties: {} }] } as const;
  const wide = document({ tenants: "tenants: [tenant:acme, tenant:globex]" });
  const views = "apiVersion: tools/v1\nviews:\n  - { name: all, filters: { provider: [people] } }\n";
  const ways: readonly (readonly [what: string, method: string, path: string, sent: object])[] = [
    ["from several tenants to one", "PUT", "/config/systems/staff.book", { raw: document() }],
    ["a text of the same tenants", "PUT", "/config/systems/staff.book", { raw: `${wide}# more\n` }],
    ["from several tenants to all", "PUT", "/config/systems/staff.book", { raw: document({ tenants: "" }) }],
    ["rolled back", "POST", "/config/systems/staff.book/rollback", { body: { version: 1 } }],
    ["taken away", "DELETE", "/config/systems/staff.book", {}],
    ["a new one for all", "POST", "/config/systems", { raw: document({ instance: "all", tenants: "" }) }],
    ["a view that names no tenant", "PUT", "/config/tools", { raw: views }],
  ];
  const made = async () => {
    assert.equal((await ask("POST", "/config/systems", { raw: document() })).status, 201);
    instance.verdicts.set("deployment:edit_systems", stepUp).set("deployment:edit_views", stepUp);
    const strong = await ask("PUT", "/config/systems/staff.book", { raw: wide });
    assert.deepEqual([strong.status, strong.body.code], [401, "step_up_required"], "from one tenant to several");
    const tried = await ask("PUT", "/config/systems/staff.book?dryRun=true", { raw: wide });
    assert.deepEqual([tried.status, tried.body.valid], [200, true], "a try shows what it would do");
    instance.verdicts.set("deployment:edit_systems", true).set("deployment:edit_views", true);
    assert.equal((await ask("PUT", "/config/systems/staff.book", { raw: wide })).status, 200);
  };
  await made();
  for (const [verdict, code] of [
    [false, "cross_tenant"],
    [stepUp, "step_up_required"],
  ] as const) {
    instance.verdicts.set("deployment:edit_systems", verdict).set("deployment:edit_views", verdict);
    for (const [what, method, path, sent] of ways)
      for (const as of verdict === false ? [ada, eve] : [ada]) {
        const { status, body } = await ask(method, path, { ...sent, as });
        const said = body.code === "unprocessable" ? body.errors.map((one: { code?: string }) => one.code) : [body.code];
        assert.ok(said.includes(code) || (as === eve && status === 404), `${what}: ${JSON.stringify(body)}`);
      }
  }
  assert.deepEqual((await ask("GET", "/config/systems/staff.book")).body.version, 2);
  instance.verdicts.set("deployment:edit_systems", true).set("deployment:edit_views", true);
  for (const [what, method, path, sent] of ways.filter(([, method]) => method !== "DELETE")) {
    const { status, body } = await ask(method, path, sent);
    assert.ok(status < 300 || body.detail?.includes("already"), `${what}: ${JSON.stringify(body)}`);
  }
  // Of the own tenant alone again, it goes back to no version that served others too.
  assert.equal((await ask("PUT", "/config/systems/staff.book", { raw: `${document()}# own\n` })).status, 200);
  instance.verdicts.set("deployment:edit_systems", false);
  const back = await ask("POST", "/config/systems/staff.book/rollback", { body: { version: 2 } });
  assert.deepEqual([back.status, back.body.errors.map((one: { code?: string }) => one.code)], [422, ["cross_tenant"]]);
});

test("versions of a time when the name was another tenant's end no list of versions early", async (t) => {
  const ask = client(await crudInstance(t));
  const theirs = document({ tenants: "tenants: [tenant:globex]" });
  for (const [method, sent] of [
    ["POST", { raw: document() }],
    ["DELETE", {}],
    ["POST", { raw: theirs, as: eve }],
    ["DELETE", { as: eve }],
    ["POST", { raw: document() }],
    ["PUT", { raw: document({ description: "Shows somebody by the id." }) }],
  ] as const) {
    const made = await ask(method, `/config/systems${method === "POST" ? "" : "/staff.book"}`, sent);
    assert.ok(made.status < 300, JSON.stringify(made.body));
  }
  const pages: number[][] = [];
  let cursor = "";
  do {
    const { body } = await ask("GET", `/config/systems/staff.book/versions?limit=2${cursor}`);
    pages.push(body.versions.map(({ version }: { version: number }) => version));
    cursor = body.nextCursor === undefined ? "" : `&cursor=${body.nextCursor}`;
  } while (cursor !== "");
  assert.deepEqual(pages, [
    [6, 5],
    [2, 1],
  ]);
});

const folderOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  await cp(fileURLToPath(new URL("../../../config/", import.meta.url)), folder, { recursive: true });
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

test("a second process on the same database serves what the first one published, and the other way round", async (t) => {
  const one = await crudInstance(t, { realEvents: true });
  const two = await crudInstance(t, { realEvents: true, beside: one });
  const serves = (instance: CrudInstance, name: string): boolean => instance.crud.catalogue.snapshot.tools.has(name);
  assert.equal((await client(one)("POST", "/config/systems", { raw: document() })).status, 201);
  await until(() => serves(two, "staff.book.get_one"));
  two.membership.capabilities = ["staff.book.get_one"];
  assert.equal((await callOf(two, "staff.book.get_one")).body.error, undefined);
  // Whoever writes looks first: the other's version is the one that it must have read.
  const mine = await client(two)("GET", "/config/systems/staff.book");
  assert.equal(
    (await client(one)("PUT", "/config/systems/staff.book", { raw: document({ description: "Shows somebody by the id." }) })).body.version,
    2,
  );
  const late = await client(two)("PUT", "/config/systems/staff.book", {
    raw: document({ description: "Too late, by a moment." }),
    headers: { "if-match": mine.body.etag },
  });
  assert.equal(late.body.code, "stale_version");
  const both = await Promise.all(
    [one, two].map((instance, index) =>
      client(instance)("PUT", "/config/systems/staff.book", {
        raw: document({ description: `At once, number ${index}.` }),
        headers: { "if-match": late.body.current },
      }),
    ),
  );
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412]);
  assert.equal((await client(two)("DELETE", "/config/systems/staff.book")).status, 200);
  await until(() => !serves(one, "staff.book.get_one"));
});

test("a file that changed is taken up; one that broke keeps its last good version serving and says what is wrong", async (t) => {
  const configFolder = await folderOf(t);
  const instance = await crudInstance(t, { configFolder, realEvents: true });
  const ask = client(instance);
  const file = join(configFolder, "systems", "staff.book.yaml");
  const serves = (): boolean => instance.crud.catalogue.snapshot.tools.has("staff.book.get_one");
  const reload = async () =>
    (await ask("POST", "/config/reload")).body as { taken: string[]; degraded: { name: string; errors: { line: number }[] }[] };

  assert.deepEqual(await reload(), { set_version: 9, taken: [], degraded: [] });
  await writeFile(file, document());
  assert.deepEqual((await reload()).taken, ["system/staff.book"]);
  assert.equal((await ask("GET", "/config/systems/staff.book")).body.author, "file");
  assert.ok(serves());
  await writeFile(file, document().replace("title:", "titel:"));
  const broken = await reload();
  assert.deepEqual(
    [broken.taken, broken.degraded.map(({ name, errors }) => [name, errors.map(({ line }) => line)])],
    [[], [["staff.book", [2, 5]]]],
  );
  assert.ok(serves(), "the last good version serves");
  const shown = (await ask("GET", "/config/systems/staff.book")).body;
  assert.deepEqual([shown.state, shown.degraded.serving_version, shown.version], ["degraded", 1, 1]);
  assert.deepEqual(
    (await ask("GET", "/config/systems?state=degraded")).body.systems.map(({ name }: { name: string }) => name),
    ["staff.book"],
  );
  assert.ok(instance.lines.some((line) => line["event"] === "config_object_degraded" && line["name"] === "staff.book"));

  // A start finds the same: the version in the database serves.
  const again = await crudInstance(t, { configFolder, beside: instance, realEvents: true });
  assert.ok(again.crud.catalogue.snapshot.tools.has("staff.book.get_one"));
  assert.equal((await client(again)("GET", "/config/systems/staff.book")).body.state, "degraded");

  await writeFile(file, document());
  assert.deepEqual((await reload()).degraded, []);
  assert.deepEqual((await client(again)("POST", "/config/reload")).body.degraded, []);
  assert.deepEqual(
    (await instance.database.run(STATES_REPORTED)).map(({ type, data: { kind, name, version, state } }) => [
      type,
      kind,
      name,
      version,
      state,
    ]),
    [
      ["config.degraded", "system", "staff.book", 1, "degraded"],
      ["config.repaired", "system", "staff.book", 1, "ok"],
    ],
    "once, though two processes saw it",
  );
  const other = join(configFolder, "systems", "staff.other.yaml");
  await writeFile(other, "nonsense: 1\n");
  assert.deepEqual(
    (await reload()).degraded.map(({ name }) => name),
    ["staff.other"],
  );
  await unlink(other);
  assert.deepEqual((await reload()).degraded, [], "what never loaded is gone with its file");
  assert.equal((await ask("GET", "/config/systems/staff.other")).status, 404);
  // What the API wrote since stays when the file is taken away, until somebody takes it away there too.
  assert.equal((await ask("PUT", "/config/systems/staff.book", { raw: document({ description: "Changed by the API." }) })).body.version, 2);
  await unlink(file);
  assert.deepEqual((await reload()).taken, []);
  assert.ok(serves());
});

test("a process that is killed between its commit and taking it up has published: the next start serves it", async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), "sallyport-killed-"));
  cleanUp(t, () => rm(dataFolder, { recursive: true, force: true }));
  const child = startChild(`
    const { createPglite } = await import(new URL("store/pglite.ts", src));
    const { migrate } = await import(new URL("store/migrate.ts", src));
    const { silentLog: log } = await import(new URL("telemetry/log.ts", src));
    const { crudInstance } = await import(new URL("testing/crud-instance.ts", src));
    const database = await createPglite({ dataFolder: ${JSON.stringify(dataFolder)}, log });
    await migrate(database, [{ module: "crud", folder: new URL("crud/migrations/", src) }]);
    let isArmed = false;
    const transaction = async (work, more) => {
      const result = await database.transaction(work, more);
      if (isArmed) process.kill(process.pid, "SIGKILL");
      return isArmed ? new Promise(() => {}) : result;
    };
    // No external server: nothing but the write commits.
    const instance = await crudInstance({ after: () => {} }, { beside: { database: { ...database, transaction } }, servers: "away" });
    isArmed = true;
    await instance.request("/config/systems", {
      raw: ${JSON.stringify(document())}, headers: { "content-type": "application/yaml" }, as: { sub: "person:ada", scopes: ["config.write"] },
    });
    console.log("it lives");
  `);
  cleanUp(t, () => child.kill());
  await assert.rejects(child.line(), /the child process ended/);
  const database = await createPglite({ dataFolder, log: silentLog });
  cleanUp(t, () => database[Symbol.asyncDispose]());
  const instance = await crudInstance(t, { beside: { database }, servers: "away" });
  assert.ok(instance.crud.catalogue.snapshot.tools.has("staff.book.get_one"));
  assert.deepEqual([(await client(instance)("GET", "/config/systems/staff.book")).body.version], [1]);
});

test("a change of what a call may see or meet shows in what publishing would do, where the definition stays as it is", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const ask = client(instance);
  const masked = (rules: string): string => document({ extra: `    ${rules}\n` });
  const first = 'mask: [{ path: /salary, action: "null" }]';
  assert.equal((await ask("POST", "/config/systems", { raw: masked(first) })).status, 201);
  for (const [rules, changes] of [
    [first, []],
    ['mask: [{ path: /salary, action: "null", unlessAllowed: read_salary }]', ["/rules/masks mask_weakened"]],
    ["mask: [{ path: /salary, action: last4 }]", ["/rules/masks mask_weakened"]],
    ["mask: []", ["/rules/masks mask_weakened"]],
    ['mask: [{ path: /salary, action: "null" }, { path: /name, action: "null" }]', ["/rules/masks mask"]],
    [`${first}\n    stepUp: { level: strong, maxAge: PT5M }`, ["/rules/step_up rule"]],
    [`${first}\n    cost_usd: 0.5`, ["/rules/cost_usd cost"]],
    [`${first}\n    timeout: PT3S`, ["/rules/timeout_ms rule"]],
  ] as const) {
    const tried = await ask("PUT", "/config/systems/staff.book?dryRun=true", { raw: `${masked(rules)}# said again\n` });
    assert.deepEqual([tried.status, tried.body.errors], [200, []], JSON.stringify(tried.body));
    const { diff } = tried.body as ConfigWritten;
    const reported = diff.tools_changed.flatMap((tool) => tool.changes.map(({ path, kind }) => `${path} ${kind}`));
    assert.deepEqual(reported, changes, rules);
    assert.equal(diff.tools_changed.length, changes.length);
  }
});

test("a dry run tells whose capability a changed definition switches off, and which decisions would be others", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  const dry = async (raw: string, more: object = {}) => ask("PUT", "/config/systems/staff.book?dryRun=true", { raw, ...more });
  const tool = "staff.book.get_one";
  const found = { delegation_id: "delegation:ben-hr", user_id: "person:ben", agent_id: "agent:hr-assistant", tool_id: tool };
  instance.membership.affected = [found];
  const fresh = await dry(document());
  assert.deepEqual([fresh.body.diff.capabilities_affected, fresh.body.diff.decisions_changed, instance.asked.replays], [[], undefined, []]);
  const made = await ask("POST", "/config/systems", { raw: document() });
  assert.deepEqual([made.status, made.body.diff.capabilities_affected], [201, undefined]);

  const askedOf = () => instance.asked.membership.findLast(({ path }) => path.endsWith("/affected"));
  const changed = await dry(document({ description: "Shows one person of the staff." }));
  const { unchanged: _unchanged, ...reported } = replayed;
  assert.deepEqual(
    [changed.body.diff.capabilities_affected, changed.body.diff.decisions_changed, changed.body.warnings],
    [[{ delegation_id: "delegation:ben-hr", user_id: "person:ben", agent_id: "agent:hr-assistant", tool }], reported, []],
  );
  const [{ digest }] = changed.body.diff.tools_changed;
  assert.deepEqual(askedOf()?.body, { tools: [{ tool_id: tool, definition_digest: digest.after }] });
  const [again] = instance.asked.replays;
  const [asked] = again?.tools ?? [];
  assert.deepEqual(
    [
      again?.tenant_id,
      asked?.tool_id,
      asked?.state,
      asked?.drifted_for,
      asked?.before["definition_digest"],
      asked?.after["definition_digest"],
    ],
    ["tenant:acme", tool, "approved", ["agent:hr-assistant"], digest.before, digest.after],
  );

  // A price changes no definition, and so no capability.
  const before = instance.asked.membership.length;
  const dear = await dry(document({ extra: "    cost_usd: 3\n" }));
  assert.deepEqual(dear.body.diff.capabilities_affected, []);
  assert.ok(!instance.asked.membership.slice(before).some(({ path }) => path.endsWith("/affected")));
  assert.deepEqual(
    [instance.asked.replays.at(-1)?.tools[0]?.before["cost_usd"], instance.asked.replays.at(-1)?.tools[0]?.after["cost_usd"]],
    [0, 3],
  );

  const gone = await ask("DELETE", "/config/systems/staff.book?dryRun=true");
  assert.equal(gone.body.diff.capabilities_affected.length, 1);
  assert.deepEqual(askedOf()?.body, { tools: [{ tool_id: tool, definition_digest: null }] });
  assert.equal(instance.asked.replays.at(-1)?.tools[0]?.state, "retired");

  // Who may not approve definitions leaves all tools of the system waiting, also those that stay as they are.
  instance.verdicts.set("tool:approve_definition", "not_granted");
  await dry(document({ extra: "  second:\n    description: Shows the second one.\n    request: { method: GET, path: /second }\n" }));
  assert.deepEqual(askedOf()?.body, { tools: [{ tool_id: tool, definition_digest: null }] });
  assert.equal(instance.asked.replays.at(-1)?.tools[0]?.state, "proposed");
  instance.verdicts.delete("tool:approve_definition");

  // What cannot be asked is said, and the rest told all the same.
  instance.verdicts.set("tool:approve_definition", "down");
  const without = await dry(document({ description: "Shows one person of the staff." }));
  assert.deepEqual(
    [without.status, without.body.diff.capabilities_affected, without.body.warnings],
    [200, undefined, ["What it means for who uses its tools could not be looked up (decision_unavailable)."]],
  );
  instance.verdicts.delete("tool:approve_definition");
  const faulty = await dry(document({ extra: "    nothing: 1\n" }));
  assert.deepEqual([faulty.body.valid, faulty.body.diff.capabilities_affected], [false, undefined]);
});

test("tools that MCP_MAX_TOOLS leaves out are said to who publishes", async (t) => {
  const instance = await crudInstance(t, { settings: { MCP_MAX_TOOLS: "3" }, servers: "away" });
  const { status, body } = await client(instance)("POST", "/config/systems", { raw: document() });
  assert.equal(status, 201, JSON.stringify(body));
  assert.match(body.warnings[0], /MCP_MAX_TOOLS leaves \d+ tools? out/);
  const one = "apiVersion: tools/v1\nviews: [{ name: one, tenants: [tenant:acme], maxTools: 1 }]\n";
  const shown = await client(await crudInstance(t))("PUT", "/config/tools", { raw: one });
  assert.deepEqual([shown.status, shown.body.diff.views_changed], [200, ["one"]], JSON.stringify(shown.body));
  assert.match(shown.body.warnings.join(), /^The view one leaves out [1-9][0-9]* tools, the last by name\.$/);
  assert.deepEqual((await client(await crudInstance(t))("POST", "/config/systems", { raw: document() })).body.warnings, []);
});

test("large tools are made known in requests that the registry takes, all of them, and all are retired by one", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  const long = "What it does and what it does not do. ".repeat(20).trim();
  const names = Array.from({ length: 60 }, (_none, index) => `many_${index}`);
  const json = {
    apiVersion: "systems/v1",
    provider: "staff",
    instance: "large",
    title: "Large",
    owner: "group:people-ops",
    tenants: ["tenant:acme"],
    kind: "http",
    baseUrl: "https://large.example",
    defaults: { dataScope: "none" },
    operations: Object.fromEntries(
      names.map((name) => [
        name,
        {
          description: "Shows one of many by id.",
          request: { method: "POST", path: `/${name}` },
          input: {
            type: "object",
            properties: Object.fromEntries(Array.from({ length: 25 }, (_none, at) => [`p${at}`, { type: "string", description: long }])),
          },
        },
      ]),
    ),
  };
  const made = await ask("POST", "/config/systems", { raw: printJson(json), headers: { "content-type": "application/json" } });
  assert.deepEqual([made.status, made.body.warnings], [201, []]);
  const batches = instance.asked.membership.filter(({ path }) => path.endsWith("/tools"));
  const bodies = batches.map(({ body }) => body as { readonly tools: readonly { readonly name: string }[] });
  assert.ok(batches.length > 1, `${batches.length} requests`);
  for (const body of bodies) assert.ok(JSON.stringify(body).length < 400_000, `${JSON.stringify(body).length} characters`);
  assert.deepEqual(
    bodies.flatMap(({ tools }) => tools.map(({ name }) => name)).toSorted(),
    names.map((name) => `staff.large.${name}`).toSorted(),
  );
  assert.equal((await ask("DELETE", "/config/systems/staff.large")).status, 200);
  const retired = instance.asked.membership.filter(({ path }) => path.endsWith("/retire"));
  assert.deepEqual(
    retired.map(({ body }) => (body as { readonly tool_ids: readonly string[] }).tool_ids.length),
    [names.length],
  );
});

test("an edit that no definition shows is in force with the answer, here and in a second process", async (t) => {
  const instance = await crudInstance(t);
  const beside = await crudInstance(t, { beside: instance });
  const ask = client(instance);
  const text = document();
  assert.equal((await ask("POST", "/config/systems", { raw: text })).status, 201);
  const digest = (): string | undefined => instance.crud.catalogue.snapshot.digests.get("staff.book.get_one");
  const first = digest();
  for (const [edit, seen] of [
    [text.replace("/employees/{id}", "/nowhere/{id}"), "upstream_error"],
    [`${text}    mask: [{ path: /salary, action: "null" }]\n`, '"salary":null'],
    [text.replace("#api_key", "#nothing"), "people/demo#nothing"],
    [text.replace("network: { allow: [127.0.0.1/32] }\n", ""), "network.allow"],
  ] as const) {
    const put = await ask("PUT", "/config/systems/staff.book", { raw: edit });
    assert.deepEqual([put.status, put.body.warnings.length], [200, edit.includes("network:") ? 0 : 1], JSON.stringify(put.body));
    assert.equal(digest(), first);
    for (const one of [instance, beside]) {
      one.membership.capabilities = ["staff.book.get_one"];
      const called = async (): Promise<string> => {
        const { result, error } = (await callOf(one, "staff.book.get_one")).body;
        return `${result?.content[0]?.text} ${JSON.stringify(error)} ${JSON.stringify(one.asked.secrets.at(-1) ?? null)}`;
      };
      await until(called, (text) => text.includes(seen));
    }
  }
});

test("what keeps a call from a secret is a warning to who publishes, before and after: it may be mended later", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  const uri = "yaml://secret/people/demo#api_key";
  const unnamed = `staff.book may not use ${uri} yet: calls are refused until an administrator names the system on it (used_by of its Resource node).`;
  for (const [status, verdict, warned] of [
    ["secret_not_found", true, [`${uri} is not there (secret_not_found): calls are refused until it is written.`]],
    ["key_not_found", false, [`${uri} is not there (key_not_found): calls are refused until it is written.`, unnamed]],
    ["tenant_mount", true, [`${uri} lies where your tenant may keep no secret (tenant_mount): TENANT_ALLOWED_MOUNTS names the places.`]],
    ["access_denied", true, []],
    ["access_denied", false, [unnamed]],
    ["secrets_unavailable", true, []],
    ["ok", "down", ["Whether its secrets can be used could not be looked up (decision_unavailable)."]],
  ] as const) {
    instance.secrets.status = status;
    instance.verdicts.set("secret:use", verdict);
    const text = document({ description: `With ${status} ${verdict}.` });
    for (const query of ["?dryRun=true", ""]) {
      const put = await ask("PUT", `/config/systems/staff.book${query}`, { raw: text });
      assert.deepEqual([put.status < 300, put.body.warnings], [true, warned], `${status} ${query}`);
    }
  }
  assert.deepEqual([...new Set(instance.asked.secrets.map(({ path }) => path))], ["/api/secrets/keys"], "no value is read");
});

test("a tenant's system names secrets of its tenant alone, one for several tenants those of the platform", async (t) => {
  const owners: Readonly<Record<string, string>> = { acme: "tenant:acme", globex: "tenant:globex", people: "platform" };
  const secretOwner = (uri: string): string | undefined => owners[/secret\/([a-z]+)\//.exec(uri)?.[1] ?? ""];
  for (const [tenants, of, place, refused] of [
    [["tenant:acme", "tenant:globex"], "tenants: [tenant:acme]", "acme", undefined],
    [["tenant:acme", "tenant:globex"], "tenants: [tenant:acme]", "globex", "not yours"],
    [["tenant:acme", "tenant:globex"], "tenants: [tenant:acme]", "people", "not yours"],
    // What lies nowhere is a warning, as a place may be named later.
    [["tenant:acme", "tenant:globex"], "tenants: [tenant:acme]", "nowhere", undefined],
    [["tenant:acme", "tenant:globex"], "tenants: [tenant:acme, tenant:globex]", "acme", "not the platform's"],
    [["tenant:acme", "tenant:globex"], "# of all", "globex", "not the platform's"],
    [["tenant:acme"], "# of the only one", "people", undefined],
  ] as const) {
    const instance = await crudInstance(t, { tenants, secretOwner });
    instance.verdicts.set("deployment:edit_systems", true);
    const raw = document({ tenants: of }).replace("secret/people/demo", `secret/${place}/demo`);
    for (const query of ["?dryRun=true", ""]) {
      const { status, body } = await client(instance)("PUT", `/config/systems/staff.book${query}`, { raw });
      const issues = ((body.errors ?? []) as { path: string; message: string; code: string }[]).filter(({ path }) => path.includes("auth"));
      assert.deepEqual(
        issues.map(({ message, code }) => [message.replace("lies at a place that is ", ""), code]),
        refused === undefined ? [] : [[refused, "foreign_secret"]],
        `${of} ${place} ${query}: ${status} ${JSON.stringify(body)}`,
      );
      if (refused === undefined) assert.ok(status < 300, JSON.stringify(body));
    }
  }
});

test("an owner whom the graph does not know is an issue at its place, with the nearest who is there", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  const text = document().replace("owner: group:people-ops", "owner: group:people-opps");
  const issue = {
    path: "/owner",
    message: "names group:people-opps, which the identity graph does not know",
    code: "unknown",
    hint: "did you mean group:people-ops?",
    file: "system.yaml",
  };
  const shown = (errors: readonly Record<string, unknown>[]) => errors.map(({ line, column, ...rest }) => [rest, Number(line) > 1, column]);
  const wrong = await ask("POST", "/config/systems?dryRun=true", { raw: text.replace("method: GET", "method: GOT") });
  assert.deepEqual([wrong.body.valid, wrong.body.name], [false, "staff.book"], "a faulty document has a name, too");
  assert.deepEqual(
    wrong.body.errors.map(({ path, message, hint }: Record<string, unknown>) => [path, message, hint]),
    [
      ["/operations/get_one/request/method", "must be one of GET, POST, PUT, PATCH, DELETE", "did you mean GET?"],
      ["/owner", issue.message, issue.hint],
    ],
    "all issues come at once",
  );
  const tried = await ask("POST", "/config/systems?dryRun=true", { raw: text });
  assert.deepEqual([tried.body.valid, shown(tried.body.errors)], [false, [[issue, true, 8]]]);
  instance.membership.owners = ["person:ada", "person:oidc:ada-1"];
  const byName = await ask("POST", "/config/systems?dryRun=true", { raw: document().replace("group:people-ops", "person:ada-1") });
  assert.equal(byName.body.errors[0].hint, "did you mean person:oidc:ada-1?");
  instance.membership.owners = ["group:people-ops"];
  const made = await ask("POST", "/config/systems", { raw: text });
  assert.deepEqual([made.status, made.body.code, shown(made.body.errors)], [422, "unprocessable", [[issue, true, 8]]]);
  instance.membership.isDown = true;
  assert.equal((await ask("POST", "/config/systems", { raw: document() })).body.code, "membership_unavailable");
});

test("a dry run tells no more issues than a refusal", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  for (const raw of [`a: ${"[]".repeat(1000)}`, `${document()}${Array.from({ length: 60 }, (_, at) => `more${at}: 1\n`).join("")}`]) {
    const tried = await client(instance)("POST", "/config/systems?dryRun=true", { raw });
    assert.deepEqual([tried.status, tried.body.valid, tried.body.errors.length], [200, false, 50]);
  }
});

test("an address that no call may reach is told as it is published, and what to write by whom as it is explained", async (t) => {
  const instance = await crudInstance(t);
  const ask = client(instance);
  const text = document().replace("network: { allow: [127.0.0.1/32] }\n", "");
  const at = (baseUrl: string): string => text.replace(/baseUrl: .*/, `baseUrl: ${baseUrl}`);
  for (const [url, network] of [
    ["http://127.0.0.1:28500", "127.0.0.1/32"],
    ["https://localhost:28500", "127.0.0.1/32"],
    ["http://10.1.2.3", "10.1.2.3/32"],
    ["http://[fd00::1]", "fd00::1/128"],
    ["https://93.184.216.34", undefined],
    ["https://pets.example", undefined],
  ] as const) {
    const { status, body } = await ask("POST", "/config/systems?dryRun=true", { raw: at(url) });
    assert.equal(status, 200, JSON.stringify(body));
    const reported = body.warnings.filter((warning: string) => warning.includes("network.allow"));
    assert.deepEqual(
      reported.map((warning: string) => warning.includes(`network: { allow: [${network}] }`)),
      network === undefined ? [] : [true],
      url,
    );
  }
  for (const url of ["http://169.254.169.254", "http://127.0.0.1:8081", "http://93.184.216.34"]) {
    const { status, body } = await ask("POST", "/config/systems", { raw: at(url) });
    assert.deepEqual([status, body.errors[0].path], [422, "/baseUrl"], JSON.stringify(body));
  }
  assert.equal((await ask("POST", "/config/systems", { raw: text })).status, 201);
  instance.membership.capabilities = ["staff.book.get_one"];
  const explained = await instance.request("/mcp/tools/explain?tool=staff.book.get_one", { as: agent });
  const { callable, missing } = (await explained.json()) as { callable: string; missing: { step: string; who: string; how: string }[] };
  const step = missing.find((one) => one.step === "network");
  assert.deepEqual([callable, step?.who], ["no", "an administrator (role:administrator)"]);
  assert.match(step?.how ?? "", /^Add 127\.0\.0\.1\/32 to network\.allow of the system.*PUT \/config\/systems\/staff\.book\. The operator/);
});

test("a key is sent in no header that Sallyport writes itself", async (t) => {
  const ask = client(await crudInstance(t));
  for (const [name, status] of [
    ["Host", 422],
    ["transfer-encoding", 422],
    ["Content-Length", 422],
    ["Connection", 422],
    ["X-Pet-Key", 200],
  ] as const) {
    const raw = document().replace(
      /auth: .*/,
      `auth: { type: api_key, in: header, name: ${name}, value: "yaml://secret/people/demo#api_key" }`,
    );
    const { body } = await ask("POST", "/config/systems?dryRun=true", { raw });
    assert.deepEqual(
      [body.valid, body.errors?.[0]?.path],
      status === 200 ? [true, undefined] : [false, "/auth/name"],
      JSON.stringify(body),
    );
  }
});
