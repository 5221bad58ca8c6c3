import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import type { Issue } from "#contract/problem.ts";
import { wholeGraph } from "#membership/graph/tenant-scope.ts";
import type { Database } from "#store/database.ts";
import { forEachDatabase, testDatabase } from "#testing/database.ts";
import { graphModules, graphWorld, servedWorld, type Reply, type ServedWorld } from "#testing/membership.ts";
import { applyImport } from "./apply-import.ts";
import { exportGraph } from "./export-graph.ts";
import { faultWorld, group, importIssues, member, ndjson, type ImportError } from "./import-issues.contract.ts";
import { readImport } from "./read-import.ts";

const scopes = ["membership.read", "membership.write", "membership.export"];
const send = (
  world: ServedWorld,
  text: string,
  query = "",
  more: { readonly type?: string; readonly key?: string; readonly as?: string } = {},
): Promise<Reply> =>
  world.call(more.as ?? "ada", "POST", `/api/v1/imports?reason=from%20a%20file${query}`, {
    body: text,
    scopes,
    headers: { "content-type": more.type ?? "application/x-ndjson", "idempotency-key": more.key ?? crypto.randomUUID() },
  });
const exported = async (world: ServedWorld, query = "", as = "ada"): Promise<string> => {
  const { body, status } = await world.call(as, "GET", `/api/v1/export${query}`, { scopes, asText: true });
  assert.equal(status, 200, String(body));
  return body as string;
};
async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
const versionOf = async (world: ServedWorld): Promise<number> => Number((await world.reader.version()).version);

const wholeText = async (database: Database): Promise<string> =>
  Buffer.concat((await exportGraph(database, wholeGraph, { csv: undefined, kinds: [] })).parts as Buffer[]).toString();

forEachDatabase(
  "a graph that is exported, imported into an empty store and exported again is the same bytes",
  graphModules,
  async (t, database) => {
    const world = await graphWorld(database);
    await world.put({ id: "location:x", kind: "Location", name: "X", tenant_id: null, props: {} });
    await world.put({
      id: "person:o",
      kind: "Person",
      name: 'O\'Neil "q" \u202e🦀 İ %_\\',
      tenant_id: "tenant:acme",
      props: { attributes: { a: "", b: "x" } },
    });
    await world.put({ kind: "LOCATED_IN", src: "person:o", dst: "location:x", expires_at: new Date("2100-01-01") });
    const first = await wholeText(database);
    const { nodes } = JSON.parse(first.trim().split("\n").at(-1) ?? "").end;
    assert.ok(nodes > 40);
    const empty = await graphWorld(await testDatabase(t, graphModules), { demo: false });
    const plan = await readImport(once(first), { scope: wholeGraph, csv: undefined });
    const by = {
      actor: "operator:test",
      source: "import",
      reason: "restored",
      correlationId: "test",
      tenantId: null,
      roles: "platform",
    } as const;
    const { value, version } = await empty.write(by, async (tx) => ({
      value: await applyImport(tx, wholeGraph, plan, { mode: "upsert" }),
    }));
    assert.ok(value.written > 100);
    assert.equal(await wholeText(empty.database), first);
    assert.equal(
      (await empty.sql<{ n: bigint }>(`select count(*) as n from membership.graph_change_op where version = ${version}`))[0]?.n,
      BigInt(value.written),
    );
    // What is the same is no version.
    await empty.write(by, async (tx) => ({ value: await applyImport(tx, wholeGraph, plan, { mode: "upsert" }) }));
    assert.equal((await empty.reader.version()).version, version);
  },
);

test("a tenant's own part goes out and comes back, as NDJSON and as CSV, and nothing of others is in it", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const text = await exported(world);
  assert.ok(text.includes("person:ben") && !text.includes("globex") && !text.includes("tenant_id"));
  assert.ok((await exported(world, "", "eve")).includes("person:eve"));
  const before = await versionOf(world);
  const again = await send(world, text);
  assert.deepEqual([again.status, again.body.written, again.body.dropped], [200, 0, 0], JSON.stringify(again.body));
  assert.equal(await versionOf(world), before);
  for (const file of ["nodes", "edges"]) {
    const csv = await exported(world, `?format=csv&csv=${file}`);
    const back = await send(world, csv, `&format=csv&csv=${file}`, { type: "text/csv" });
    assert.deepEqual([file, back.status, back.body.written], [file, 200, 0], JSON.stringify(back.body));
  }
  const kinds = await exported(world, "?kinds=Person,BELONGS_TO");
  assert.deepEqual([kinds.split("\n").length, kinds.includes('"kind":"Group"')], [4 + 4 + 1 + 1, false]);
  const changed = await send(
    world,
    'kind,id,name,props.email\r\nPerson,person:new,"New, ""N""",new@acme.example\r\n',
    "&format=csv&csv=nodes",
    { type: "text/csv" },
  );
  assert.deepEqual([changed.status, changed.body.written], [200, 1], JSON.stringify(changed.body));
  assert.equal((await world.call("ada", "GET", "/api/v1/identity_nodes/person:new", { scopes })).body?.code, undefined);
});

test("while a large part goes out, in either form, others have their turns", async (t) => {
  const database = await testDatabase(t, graphModules);
  const world = await servedWorld(t, database);
  await world.sql(`insert into membership.node (id, kind, tenant_id, name, state, props, fold)
    select 'person:many' || g, 'Person', 'tenant:acme', 'Many', 'active', jsonb_build_object('attributes',
      (select jsonb_object_agg('a' || i, repeat('x', 100)) from generate_series(1, 32) i)), '' from generate_series(1, 10000) g`);
  for (const csv of ["nodes", undefined] as const) {
    let [longest, isOver] = [0, false];
    // By the processor's time of this thread alone: whatever else the machine does is no stretch of ours.
    let last = process.threadCpuUsage();
    const tick = (): void => {
      const now = process.threadCpuUsage();
      longest = Math.max(longest, (now.user + now.system - last.user - last.system) / 1000);
      last = now;
      if (!isOver) setImmediate(tick);
    };
    tick();
    const { parts } = await exportGraph(database, wholeGraph, { csv, kinds: ["Person"] }).finally(() => (isOver = true));
    assert.ok(longest < 50, `${longest} ms at a stretch`);
    assert.ok(Buffer.concat(parts).toString().includes("person:many10000"));
  }
});

test("an import is one version that says who and why, in any order of lines, and is not done twice", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const text = ndjson(member("group:a", "group:b"), group("group:a"), "", group("group:b"), {
    drop: { edge: { kind: "MEMBER_OF", src: "account:dan@acme", dst: "group:contractors" } },
  });
  const before = await versionOf(world);
  const tried = await send(world, text, "&dry_run=true");
  assert.deepEqual(tried.body, { lines: 5, written: 3, same: 0, dropped: 1, graph_version: before, dry_run: true });
  assert.equal(await versionOf(world), before);
  const done = await send(world, text, "", { key: "same" });
  assert.deepEqual(done.body, { lines: 5, written: 3, same: 0, dropped: 1, graph_version: before + 1, dry_run: false });
  assert.deepEqual((await send(world, text, "", { key: "same" })).body, done.body);
  assert.equal((await send(world, `${text}\n`, "", { key: "same" })).body.code, "idempotency_conflict");
  const { body: log } = await world.call("ada", "GET", `/api/v1/graph/changes?since=${before + 1}`, { scopes });
  assert.deepEqual(
    [log.items.length, log.items[0].actor, log.items[0].reason, log.items[0].ops.length],
    [1, "person:ada", "from a file", 4],
  );
  const renamed = ndjson(group("group:a", { name: "A" }), group("group:c"));
  const skipped = await send(world, renamed, "&on_conflict=skip");
  assert.deepEqual([skipped.body.written, skipped.body.same], [1, 1]);
  const failed = await send(world, renamed, "&on_conflict=fail");
  assert.deepEqual(
    [failed.status, failed.body.errors.map(({ line, code }: { line: number; code: string }) => [line, code])],
    [
      422,
      [
        [1, "already_exists"],
        [2, "already_exists"],
      ],
    ],
  );
  const counted = (await world.metrics.text()).split("\n").filter((line) => line.startsWith("membership_import_lines_total"));
  assert.deepEqual(counted.map((line) => /result="([a-z]+)"\} (\d+)/.exec(line)?.slice(1)).toSorted(), [
    ["refused", "2"],
    ["tried", "5"],
    ["written", "7"],
  ]);
});

test("a capability is for the definition in force, also where its line stands before that of what provides the tool", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const text = ndjson(
    { edge: { kind: "HAS_CAPABILITY", src: "agent:reporter", dst: "files.read", props: { granted_by: "person:ada" } } },
    { edge: { kind: "PROVIDES", src: "mcp:files", dst: "files.read" } },
    { node: { id: "files.read", kind: "Tool", name: "files.read", digest: "d1" } },
    {
      node: { id: "mcp:files", kind: "MCPService", name: "files", props: { service_type: "mcp", trust: "pinned", managed_by: "registry" } },
    },
  );
  assert.equal((await send(world, text)).body.written, 4);
  const { body } = await world.call("ada", "GET", "/api/v1/edges/HAS_CAPABILITY/agent:reporter/files.read", { scopes });
  assert.equal(body.digest, "d1");
  assert.equal((await send(world, text)).body.written, 0, "the same again is none");
});

test("of what another tenant has, and of an edge that has ended, every mode says what it says of what nobody has", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await world.put({ kind: "MEMBER_OF", src: "group:analysts", dst: "group:contractors", expires_at: new Date("2001-01-01") });
  for (const [what, line, issue] of [
    ["another tenant's node", group("group:globex-staff"), "/id already_exists"],
    ["a node that is not there", group("group:never"), undefined],
    ["another tenant's edge", member("account:eve@globex", "group:globex-staff"), "/src unprocessable"],
    ["an edge of nobody", member("account:nobody@globex", "group:globex-staff"), "/src unprocessable"],
    ["an edge that has ended", member("group:analysts", "group:contractors"), undefined],
  ] as const)
    for (const mode of ["upsert", "skip", "fail"]) {
      const { status, body } = await send(world, ndjson(line), `&dry_run=true&on_conflict=${mode}`);
      const issues = body.errors?.map(({ path, code }: Issue) => `${path} ${code}`);
      assert.deepEqual(
        [what, mode, status, body.written, body.same, issues],
        issue === undefined ? [what, mode, 200, 1, 0, undefined] : [what, mode, 422, undefined, undefined, [issue]],
      );
    }
});

test("whatever is wrong is named with line, place and code, and nothing is written", async (t: TestContext) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const good = group("group:good");
  const before = await versionOf(world);
  for (const [what, text, issues] of [
    ["no JSON", ndjson(good, "{"), [[2, "/", "body_unreadable"]]],
    ["a member twice", ndjson('{"node":{"id":"a","id":"b"}}'), [[1, "/", "duplicate_member"]]],
    ["another word", ndjson(good, { knot: {} }), [[2, "/", "invalid_body"]]],
    ["a kind that there is not", ndjson(good, { node: { id: "x:1", kind: "Robot", name: "x" } }), [[2, "/kind", "unprocessable"]]],
    ["an unknown member", ndjson({ node: { id: "x:1", kind: "Group", name: "x", colour: 1 } }), [[1, "/node/colour", "unknown"]]],
    [
      "no name, and a wrong id",
      ndjson({ node: { id: "x y", kind: "Group" } }),
      [
        [1, "/node/id", "invalid_body"],
        [1, "/node/name", "invalid_body"],
      ],
    ],
    ["a wrong prop", ndjson(good, group("x:1", { props: { colour: 1 } })), [[2, "/props/colour", "unprocessable"]]],
    ["a prop __proto__", ndjson(good, group("x:1", { props: { ["__proto__"]: { a: 1 } } })), [[2, "/node/props/__proto__", "unknown"]]],
    [
      "the same of an edge",
      ndjson(good, member("group:good", "x:1", { props: { ["__proto__"]: 1 } })),
      [[2, "/edge/props/__proto__", "unknown"]],
    ],
    ["a member __proto__", ndjson({ ["__proto__"]: { node: {} } }), [[1, "/", "invalid_body"]]],
    ["an id twice", ndjson(good, group("x:1"), group("x:1")), [[3, "/", "conflict"]]],
    ["an edge twice", ndjson(member("group:a", "group:b"), member("group:a", "group:b")), [[2, "/", "conflict"]]],
    ["an end that is not there", ndjson(good, member("group:good", "group:never")), [[2, "/dst", "unprocessable"]]],
    ["an end of another tenant", ndjson(good, member("group:good", "group:globex-staff")), [[2, "/dst", "unprocessable"]]],
    ["a member of another tenant's group", ndjson(member("account:eve@globex", "group:analysts")), [[1, "/src", "unprocessable"]]],
    ["another tenant's node", ndjson(group("x:1", { tenant_id: "tenant:globex" })), [[1, "/tenant_id", "access_denied"]]],
    [
      "a shared node",
      ndjson({ node: { id: "x:1", kind: "Policy", name: "x", tenant_id: null, props: { rev: "1", uri: "x" } } }),
      [[1, "/tenant_id", "access_denied"]],
    ],
    ["another tenant's id", ndjson(good, { node: { id: "person:eve", kind: "Person", name: "x" } }), [[2, "/id", "already_exists"]]],
    ["a tenant", ndjson({ node: { id: "tenant:zzz", kind: "Tenant", name: "x" } }), [[1, "/id", "unprocessable"]]],
    [
      "a delegation",
      ndjson({ edge: { kind: "DELEGATES_TO", src: "person:ben", dst: "agent:reporter" } }),
      [[1, "/kind", "edge_not_allowed"]],
    ],
    ["a shared service made an administrator", ndjson(member("service:crud", "group:platform-admins")), [[1, "/src", "access_denied"]]],
    ["what is not there dropped", ndjson({ drop: { node: "person:eve" } }), [[1, "/drop", "not_found"]]],
    ["a cut file", ndjson(good, { end: { nodes: 2, edges: 0, sha256: "0".repeat(64) } }), [[2, "/end", undefined]]],
    [
      "a line behind the last",
      ndjson({ end: { nodes: 0, edges: 0, sha256: "0".repeat(64) } }, good),
      [
        [2, "/end", undefined],
        [2, "/end", undefined],
      ],
    ],
  ] as const) {
    const reply = await send(world, text);
    assert.deepEqual(
      [
        what,
        reply.status,
        reply.body.code,
        reply.body.errors?.map((issue: { line: number; path: string; code?: string }) => [issue.line, issue.path, issue.code]).toSorted(),
      ],
      [what, 422, "import_refused", [...issues].toSorted()],
    );
  }
  for (const [what, status, code, ask] of [
    [
      "no reason",
      422,
      "unprocessable",
      () =>
        world.call("ada", "POST", "/api/v1/imports", {
          body: "",
          scopes,
          headers: { "content-type": "application/x-ndjson", "idempotency-key": "k" },
        }),
    ],
    ["no key, before a line is read", 400, "idempotency_key_required", () => send(world, "{", "", { key: "" })],
    ["JSON", 415, "unsupported_media_type", () => send(world, "{}", "", { type: "application/json" })],
    ["CSV without its sort", 422, "unprocessable", () => send(world, "id", "&format=csv", { type: "text/csv" })],
    ["CSV that is said to be none", 415, "unsupported_media_type", () => send(world, "id", "", { type: "text/csv" })],
    ["a column that there is not", 422, "import_refused", () => send(world, "id,colour\n", "&format=csv&csv=nodes", { type: "text/csv" })],
    [
      "too few fields",
      422,
      "import_refused",
      () => send(world, "id,kind,name\nx:1,Group\n", "&format=csv&csv=nodes", { type: "text/csv" }),
    ],
    ["an unknown kind to export", 422, "unprocessable", () => world.call("ada", "GET", "/api/v1/export?kinds=Robot", { scopes })],
  ] as const) {
    const reply = await ask();
    assert.deepEqual([what, reply.status, reply.body.code], [what, status, code]);
  }
  assert.equal(await versionOf(world), before);
});

test("the files that the documentation shows can be imported", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const page = await readFile(new URL("../../../docs/howto/import-and-export-the-graph.md", import.meta.url), "utf8");
  const shown = (language: string) => [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
  const [lines = ""] = shown("ndjson");
  const [nodes = "", edges = ""] = shown("csv");
  const parts = [await send(world, lines), await send(world, nodes, "&format=csv&csv=nodes", { type: "text/csv" })];
  parts.push(await send(world, edges, "&format=csv&csv=edges", { type: "text/csv" }));
  assert.deepEqual(
    parts.map(({ status, body }) => [status, body.written]),
    [
      [200, 3],
      [200, 2],
      [200, 2],
    ],
    JSON.stringify(parts.map(({ body }) => body)),
  );
});

test("what is wrong with a CSV file is told of its rows and columns", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const whole = "x:1,Group,Good,\n";
  for (const [what, file, text, published] of [
    [
      "a quote that is never closed",
      "nodes",
      `id,kind,name,system\n${whole}x:2,"Group,B,\nx:3,Group,C,\n`,
      "3 / has a quote that is never closed",
    ],
    ["a quote in a field", "nodes", `id,kind,name,system\nx:2,Gr"oup,B,\n`, "2 / has a quote inside a field that does not begin with one"],
    ["no id", "nodes", `id,kind,name,system\n${whole},Group,B,\n`, "3 /id is required"],
    ["semicolons", "nodes", "id;kind;name\nx:1;Group;A\n", "1 / is parted by ;: the fields of a CSV file are parted by commas"],
    ["tabs", "edges", "kind\tsrc\tdst\nMEMBER_OF\ta\tb\n", "1 / is parted by tabs: the fields of a CSV file are parted by commas"],
    ["an end that is not there", "edges", "kind,src,dst\nMEMBER_OF,person:ada,group:payrol\n", "2 /dst group:payrol is not there."],
  ] as const) {
    const { status, body } = await send(world, text, `&format=csv&csv=${file}`, { type: "text/csv" });
    const issues = body.errors?.map(({ line, path, message }: Issue) => `${line} ${path} ${message}`);
    assert.deepEqual([what, status, body.code, issues], [what, 422, "import_refused", [published]]);
  }
  const { body } = await send(world, "id", "", { type: "text/csv" });
  assert.match(body.detail, /format=csv and csv=nodes/);
});

test("a prop at the wrong level is one issue that says where it goes, and repeats no value of a file", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const rows = "person:a,Person,A,a@acme.example\nperson:b,Person,B,b@acme.example\n";
  const sent = async (header: string) =>
    (await send(world, `${header}\n${rows}`, "&format=csv&csv=nodes", { type: "text/csv" })).body.errors?.map(
      ({ line, path, hint }: Issue) => `${line} ${path} ${hint ?? ""}`,
    );
  assert.deepEqual(await sent("id,kind,name,email"), ["1 /email did you mean props.email?"]);
  assert.deepEqual(await sent("id,kind,name,dispaly_name"), ["1 /dispaly_name did you mean display_name?"]);
  for (const name of ["__proto__", "constructor", "prototype"])
    assert.deepEqual(
      (await sent(`id,kind,name,props.${name}`))?.map((issue: string) => issue.replace("/node", "")),
      [2, 3].map((row) => `${row} /props/${name} `),
      "no prop is passed over for its name",
    );
  const line = { node: { id: "person:a", kind: "Person", name: "A", email: "a@acme.example" } };
  const { body } = await send(world, ndjson(line));
  assert.deepEqual(
    body.errors?.map((issue: Issue) => [issue.line, issue.path, issue.hint]),
    [[1, "/node/email", "did you mean /node/props/email?"]],
    JSON.stringify(body),
  );
});

forEachDatabase("what the graph refuses of a file is named by its line, and nothing is written", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  await world.put(...faultWorld);
  const before = await versionOf(world);
  for (const { what, lines, line, path, code } of importIssues)
    for (const query of ["", "&dry_run=true"]) {
      const { status, body } = await send(world, ndjson(...lines), query);
      const named = body.errors?.map((issue: ImportError) => `${issue.line} ${issue.path} ${issue.code}`);
      assert.deepEqual(
        [what, status, body.code, [...new Set(named)]],
        [what, 422, "import_refused", [`${line} ${path} ${code}`]],
        JSON.stringify(body),
      );
    }
  assert.equal(await versionOf(world), before);
});

test("a number that no double holds never becomes another one, as NDJSON or in CSV", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const line = (props: string) => `{"node":{"id":"tool:a.b.c","kind":"Tool","name":"T","props":${props}}}\n`;
  const refused = await send(world, line('{"input_schema":{"const":9007199254740993}}'));
  assert.deepEqual([refused.status, refused.body.errors.map(({ line: at }: ImportError) => at)], [422, [1]], JSON.stringify(refused.body));
  const csv = await send(
    world,
    'id,kind,name,props.input_schema\ntool:a.b.c,Tool,T,"{""const"":9007199254740993}"\n',
    "&format=csv&csv=nodes",
    {
      type: "text/csv",
    },
  );
  assert.equal(csv.status, 422, JSON.stringify(csv.body));
});

test("one bad line of 400,001 leaves nothing, and is named", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const before = await versionOf(world);
  const lines = Array.from(
    { length: 400_001 },
    (_none, at) => `{"node":{"id":"group:n${at}","kind":"Group","name":"${at === 400_000 ? "" : "g"}"}}`,
  );
  const reply = await send(world, `${lines.join("\n")}\n`);
  assert.deepEqual(
    [
      reply.status,
      reply.body.issues,
      reply.body.errors.map(({ line, path, code }: { line: number; path: string; code: string }) => [line, path, code]),
    ],
    [422, 1, [[400_001, "/node/name", "invalid_body"]]],
  );
  assert.equal(await versionOf(world), before);
});

forEachDatabase("an import of thousands of lines goes to PostgreSQL alone, tried or done", graphModules, async (t, database) => {
  const world = await servedWorld(t, database);
  const lines = (count: number): string =>
    Array.from({ length: count }, (_none, at) => `{"node":{"id":"group:n${at}","kind":"Group","name":"g"}}\n`).join("");
  const answered = async (count: number, query: string) => {
    const { status, body } = await send(world, lines(count), query);
    return [status, body.code ?? body.lines];
  };
  const isEmbedded = database.kind === "pglite";
  assert.deepEqual(await answered(2001, "&dry_run=true"), isEmbedded ? [413, "body_too_large"] : [200, 2001]);
  assert.deepEqual(await answered(2001, ""), isEmbedded ? [413, "body_too_large"] : [200, 2001]);
  assert.deepEqual(await answered(2000, ""), [200, 2000]);
});
