import assert from "node:assert/strict";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { documentKinds } from "#crud/systems/system-document.ts";
import type { Children } from "#crud/upstream/mcp-children.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { statement, type Sql } from "#store/database.ts";
import { silentLog, type Log } from "#telemetry/log.ts";
import { createShares } from "#http/shares.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { testDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { createCatalogueKeeper } from "./catalogue-store.ts";
import { createDefinitions } from "./definitions.ts";
import { createExternalSystem } from "./external-system.ts";
import { createHealthTool } from "./health-tool.ts";
import { createSources, type PreparedSystem, type SourcesParts } from "#crud/connectors/sources.ts";
import type { ForeignTool } from "./external-tools.ts";
import { emptyToolsDocument } from "#crud/documents/tools-document.ts";

const document = documentKinds.mcp.parse({
  apiVersion: "systems/v1",
  kind: "mcp",
  provider: "far",
  instance: "tools",
  title: "Far",
  owner: "person:ada",
  tenants: ["tenant:acme", "tenant:globex"],
  quarantineNew: false,
  transport: { type: "stdio", command: "far" },
  defaults: { dataScope: "none" },
});
const tool = (name: string, description: string): ForeignTool => ({ name, description, inputSchema: { type: "object" } });
const rows = statement<{ readonly state: string; readonly count: number }>(
  "test.rows",
  "select state, count(*)::int as count from crud.tool_definition group by state order by state",
);

/** A server that is asked under another clock: time passes as it rests, and by nothing else. */
const world = async (t: TestContext, list: (look: number) => readonly ForeignTool[] | Promise<readonly ForeignTool[]>) => {
  const database = await testDatabase(t, ["crud"]);
  const made = { looks: 0, statements: [] as string[], events: [] as EventDraft[], rebuilds: 0, lines: [] as string[] };
  const counted = (sql: Sql): Sql => ({
    run: (one, values) => {
      made.statements.push(one.name);
      return sql.run(one, values);
    },
  });
  const change: Change = async (work) => {
    const { result, events } = await database.transaction((sql) => work({ ...sql, ...counted(sql) }));
    made.events.push(...(events ?? []));
    return result;
  };
  const client = {
    getServerCapabilities: () => ({ tools: {} }),
    request: async () => ({ tools: await list(made.looks++) }),
  } as unknown as Client;
  const children: Children = { use: (_key, work) => work(client), running: 1, [Symbol.asyncDispose]: async () => undefined };
  const rests: { readonly milliseconds: number; readonly end: () => void }[] = [];
  const log: Log = { ...silentLog, warn: (event) => void made.lines.push(event), error: (event) => void made.lines.push(event) };
  const system = createExternalSystem({
    document,
    children,
    definitions: createDefinitions({ change, database: counted(database), tenants: async () => ["tenant:acme"] }),
    changed: () => void made.rebuilds++,
    log,
    metrics: createMetrics(),
    now: () => new Date(0),
    pause: (milliseconds, signal) =>
      new Promise((end) => {
        rests.push({ milliseconds, end });
        if (signal.aborted) end();
        signal.addEventListener("abort", () => end());
      }),
  });
  t.after(() => system[Symbol.asyncDispose]());
  /** Ends the rest that is under way, in which the server says a hundred times that its list is another; answers how long it was. */
  const rest = async (says = true): Promise<number> => {
    const { milliseconds, end } = (await until(() => rests.shift())) ?? assert.fail();
    for (let at = 0; says && at < 100; at++) system.refresh();
    end();
    return milliseconds;
  };
  return { system, made, rest, database };
};

test("a server that changes its list without end is looked at less and less, and one that stays as it is as before", async (t) => {
  let isFlipping = true;
  const { system, made, rest } = await world(t, (look) =>
    Array.from({ length: 500 }, (_none, at) => tool(`tool_${at}`, isFlipping ? `As of look ${look}.` : "As it stays.")),
  );
  system.refresh();
  const waits: number[] = [];
  for (let at = 0; at < 9; at++) waits.push(await rest());
  assert.deepEqual(waits, [20, 5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  await until(() => made.rebuilds === 9);
  assert.equal(made.looks, 9, "one look a rest");
  isFlipping = false;
  assert.deepEqual([await rest(), await rest(), await rest()], [300_000, 300_000, 5000]);
  await until(() => made.rebuilds === 12);

  const names = Map.groupBy(made.statements, (name) => name);
  assert.equal(names.get("crud.definition_first")?.length, 1);
  assert.equal(names.get("crud.definition_served")?.length, 9, "one for all tools that changed");
  assert.equal(made.statements.length, 12 * 2 + 10, "no other");
  // The first look approves what it sees, each later one finds that it drifted: one event for each of the two tenants.
  assert.equal(made.events.length, 2 * 10);
  for (const { type, tenant, key, data } of made.events.slice(2)) {
    assert.deepEqual([type, key], ["tool.drifted", "mcp:far.tools"]);
    assert.deepEqual([(data["changed"] as string[]).length, data["more"]], [50, 450], tenant);
  }
  assert.deepEqual(made.lines, ["mcp_tools_quarantined"], "said once until other tools are meant");
});

test("a server that fails is not asked sooner than its changes allow", async (t) => {
  const { system, rest } = await world(t, (look) => {
    if (look % 2 === 1) throw new Error("away");
    return [tool("one", `As of look ${look}.`)];
  });
  system.refresh();
  const waits: number[] = [];
  for (let at = 0; at < 6; at++) waits.push(await rest());
  assert.deepEqual(waits, [20, 5000, 5000, 10_000, 10_000, 20_000]);
});

test("tools that cannot be served are logged in one line, and again when it is others", async (t) => {
  let count = 3;
  const { system, made, rest } = await world(t, () => Array.from({ length: count }, (_none, at) => tool(`tool_${at}`, "x".repeat(9000))));
  system.refresh();
  for (let at = 0; at < 3; at++) await rest();
  assert.deepEqual(made.lines, ["mcp_tools_refused"]);
  count = 4;
  for (let at = 0; at < 2; at++) await rest();
  await until(() => made.lines.length > 1);
  assert.deepEqual(made.lines, ["mcp_tools_refused", "mcp_tools_refused"]);
});

test("what is asked of a retired system is published by nobody, however far it came", async (t) => {
  const answers = Promise.withResolvers<readonly ForeignTool[]>();
  const asked = await world(t, () => answers.promise);
  asked.system.refresh();
  await asked.rest();
  await until(() => asked.made.looks === 1);
  asked.system.retire();
  answers.resolve([tool("one", "Reads one.")]);
  asked.system.refresh();
  await asked.system[Symbol.asyncDispose]();
  assert.deepEqual([asked.made.looks, asked.made.rebuilds, asked.made.events, await asked.database.run(rows)], [1, 0, [], []]);
  assert.equal(asked.system.tools.length, 0);

  // It ends while its look is written.
  const written = await world(t, () => [tool("one", "Reads one.")]);
  written.made.statements.push = (...names) => {
    if (names[0] === "crud.definition_first") written.system.retire();
    return names.length;
  };
  written.system.refresh();
  await written.rest();
  await written.system[Symbol.asyncDispose]();
  assert.deepEqual([written.made.looks, written.made.rebuilds, written.made.events, await written.database.run(rows)], [1, 0, [], []]);
});

/** Says in `log` what it is sent; a list it never answers. */
const SILENT = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  appendFileSync("log", method + "\\n");
  const serverInfo = { name: "x", version: "1" };
  if (method === "initialize")
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } }) + "\\n");
  else if (id !== undefined && method !== "tools/list")
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
});
`;

test("the look at a system that is taken away ends at once, though its calls may go on", async (t) => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "sallyport-sources-")));
  const server = join(folder, "server.mjs");
  await writeFile(server, SILENT);
  const noted: string[] = [];
  const sources = createSources({
    dataFolder: folder,
    servers: { launch: () => ({ command: { file: process.execPath, args: [server] }, env: {} }) },
    definitions: { note: async (name: string) => noted.push(name) > 0, refused: async () => new Set() },
    lingerMs: 600_000,
    answerShares: createShares({ total: 1_000_000, perKey: 1_000_000 }),
    changed: () => undefined,
    version: "1",
    log: silentLog,
    metrics: createMetrics(),
    now: () => new Date(),
  } as unknown as SourcesParts);
  t.after(async () => {
    await sources[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const received = (): Promise<string> => readFile(join(folder, "systems/far.tools/tenant%3Aacme/log"), "utf8").catch(() => "");
  sources.place("far.tools", { name: "far.tools", compiled: { kind: "external", document } } as unknown as PreparedSystem);
  await until(async () => (await received()).includes("tools/list"));
  sources.place("far.tools", undefined);
  await until(async () => (await received()).includes("notifications/cancelled"));
  assert.deepEqual(noted, []);
});

test("a collision of names is logged once, and again when it comes back", () => {
  const lines: unknown[] = [];
  const health = createHealthTool({ version: "1", checks: async () => ({}) });
  const of = (name: string, digest: string) => ({ ...health, name, underscore: name.replaceAll(".", "_"), digest, isBuiltIn: false });
  let tools = [of("a.b.c", "1"), of("a.b.c", "2"), of("a.b.d", "1")];
  const named = (name: string) => ({ ...health, name, underscore: name.replace(".", "_") });
  const keeper = createCatalogueKeeper({
    builtIn: {
      health,
      find: named("system.find_tools"),
      runStatus: named("workflow.status"),
      resumeRun: named("workflow.resume"),
      cancelRun: named("workflow.cancel"),
      simulateRun: named("workflow.simulate"),
    },
    tools: () => tools,
    external: () => [],
    document: () => emptyToolsDocument,
    maxTools: 2,
    log: { ...silentLog, error: (event, fields) => lines.push([event, fields?.["name"]]), warn: (event) => lines.push(event) },
    metrics: createMetrics(),
  });
  const said = [["config_object_degraded", "a.b.c"], "mcp_catalogue_truncated"];
  for (let at = 0; at < 5; at++) {
    tools = [of("a.b.c", `first ${at}`), ...tools.slice(1)];
    keeper.rebuild();
  }
  assert.deepEqual(lines, said);
  tools = [of("a.b.c", "1"), of("a.b.d", "1")];
  keeper.rebuild();
  tools = [...tools, of("a.b.c", "2")];
  keeper.rebuild();
  assert.deepEqual(lines, [...said, said[0]]);
});
