import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Problem, type Issue } from "#contract/problem.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { decidingPeer, sharedDatabase, testGateway, type TestGatewayOptions } from "#testing/gateway.ts";
import { until } from "#testing/until.ts";

const database = sharedDatabase();

const reloadRow = `  - { id: routes.reload, path: /api/v1/routes/reload, target_service: internal, methods: [POST], auth: session, authz: pdp, authz_map: { POST: { resource: gateway.routes, action: reload } } }\n`;
const row = (id: string, path: string, more = "") =>
  `  - { id: ${id}, path: "${path}", target_service: far, preserve_path: true, methods: [GET], auth: none, authz: none${more} }\n`;
const tableOf = (url: string, rows: string) => `version: 1\nservices: { far: { base_urls: ["${url}"] } }\nroutes:\n${reloadRow}${rows}`;

/** A server elsewhere, and how many connections to it are open. */
const farServer = async (t: TestContext, listener: RequestListener) => {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  let opened = 0;
  server.on("connection", () => (opened += 1));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const open = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open, opened: () => opened };
};

const world = async (t: TestContext, first: string, options: TestGatewayOptions = {}) => {
  const folder = await mkdtemp(join(tmpdir(), "reload-"));
  const routesFile = join(folder, "routes.yaml");
  await writeFile(routesFile, first);
  const made = await testGateway(t, {
    database: await database(),
    peers: { pdp: decidingPeer((_type, _action, subject) => subject === "person:ada").peer },
    ...options,
    parts: { routesFile, ...options.parts },
  });
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const ada = await made.signIn("person:ada");
  const reload = async (text?: string, headers: Readonly<Record<string, string>> = ada.headers) => {
    if (text !== undefined) await writeFile(routesFile, text);
    const response = await made.fetch("/api/v1/routes/reload", { method: "POST", headers });
    const body = (await response.json()) as {
      readonly revision: string;
      readonly previous: string;
      readonly added: string[];
      readonly changed: string[];
      readonly removed: string[];
      readonly code?: string;
      readonly errors?: Issue[];
    };
    return { status: response.status, body };
  };
  const get = async (path: string) => {
    const response = await made.fetch(path);
    return { status: response.status, text: await response.text() };
  };
  const audited = async (): Promise<readonly unknown[]> => {
    await made.events.integrator.integrate();
    const read = { name: "test.reloads", text: "select leaf as entry from events.audit_entry where category = 'config' order by seq" };
    const rows = await made.database.run<{ entry: Uint8Array }>(read, []);
    return rows.map(({ entry }) => JSON.parse(Buffer.from(entry).toString()) as unknown);
  };
  return { made, reload, get, audited, routesFile };
};

test("a reload answers what it changed, row by row, and serves it from then on", async (t) => {
  const far = await farServer(t, (request, response) => response.end(`far ${request.url}`));
  const before = tableOf(far.url, row("kept", "/api/kept") + row("moved", "/api/moved") + row("gone", "/api/gone"));
  const { reload, get } = await world(t, before);
  assert.equal((await get("/api/gone")).text, "far /api/gone");
  const after = tableOf(
    far.url,
    `  # moved down\n${row("new", "/api/new")}${row("kept", "/api/kept")}${row("moved", "/api/moved", ", body_limit: 5")}`,
  );
  const { status, body } = await reload(after);
  assert.deepEqual([status, body.added, body.changed, body.removed], [200, ["new"], ["moved"], ["gone"]]);
  assert.match(body.revision, /^[0-9a-f]{12}$/);
  assert.notEqual(body.revision, body.previous);
  assert.deepEqual([(await get("/api/gone")).status, (await get("/api/new")).text], [404, "far /api/new"]);
  const again = await reload();
  assert.deepEqual([again.body.revision, again.body.previous], [body.revision, body.revision]);
  assert.deepEqual([again.body.added, again.body.changed, again.body.removed], [[], [], []]);
  assert.equal((await reload(before)).body.revision, body.previous, "the revision is a digest of what the files say");
  assert.equal(far.opened(), 1, "connections to services that are reached as before are kept");
});

test("a broken file changes nothing and every issue comes back, with file, line and column", async (t) => {
  const far = await farServer(t, (_request, response) => response.end("far"));
  const good = tableOf(far.url, row("one", "/api/one"));
  const { reload, get, audited, routesFile } = await world(t, good);
  const { revision } = (await reload(good)).body;
  const entries = await audited();
  const broken = tableOf(far.url, row("one", "/api/one").replace("auth: none", "auth: nobody") + row("Two", "/api/two", ", colour: red"));
  const { status, body } = await reload(broken);
  assert.deepEqual([status, body.code], [422, "routes_invalid"]);
  const column = (line: number, text: string) => (broken.split("\n")[line - 1] ?? "").indexOf(text) + 1;
  assert.deepEqual(
    body.errors?.map(({ path, message, file, line, column: at }) => ({ path, message, file, line, at })),
    [
      { path: "/routes/1/auth", message: "row one: must be session, bearer or none", file: routesFile, line: 5, at: column(5, "nobody") },
      {
        path: "/routes/2/id",
        message: "row Two: must be 1-64 of a-z 0-9 . _ - and begin with a letter",
        file: routesFile,
        line: 6,
        at: column(6, "Two"),
      },
      { path: "/routes/2/colour", message: "row Two: is not known here", file: routesFile, line: 6, at: column(6, "colour") },
    ],
  );
  assert.deepEqual([(await get("/api/one")).status, (await get("/api/two")).status], [200, 404]);
  const reported = (await audited()).slice(entries.length) as { outcome: string; code: string; data: object }[];
  assert.deepEqual(
    reported.map(({ outcome, code, data }) => ({ outcome, code, data })),
    [{ outcome: "refused", code: "routes_invalid", data: { event: "reload", revision, issues: 3 } }],
  );
  assert.equal((await reload(good)).status, 200, "and the next good one is taken");
});

test("who reloaded what is in the audit log before it serves; without the log there is no reload", async (t) => {
  const far = await farServer(t, (_request, response) => response.end("far"));
  const { reload, get, audited, made } = await world(t, tableOf(far.url, row("one", "/api/one")));
  const entries = await audited();
  const { body } = await reload(tableOf(far.url, row("two", "/api/two")));
  const reported = (await audited()).slice(entries.length) as { outcome: string; actor: { kind: string }; via: object; data: object }[];
  assert.deepEqual(
    reported.map(({ outcome, actor, via, data }) => ({ outcome, kind: actor.kind, via, data })),
    [
      {
        outcome: "ok",
        kind: "person",
        via: { service: "gateway", route_id: "routes.reload" },
        data: { event: "reload", revision: body.revision, previous: body.previous, added: 1, changed: 0, removed: 1 },
      },
    ],
  );
  const silent = await world(t, tableOf(far.url, row("one", "/api/one")), {
    parts: { recorder: { ...made.events.recorder, one: () => Promise.reject(new Problem("audit_unavailable")) } },
  });
  const refused = await silent.reload(tableOf(far.url, row("two", "/api/two")));
  assert.deepEqual([refused.status, refused.body.code], [503, "audit_unavailable"]);
  assert.deepEqual([(await silent.get("/api/one")).status, (await silent.get("/api/two")).status], [200, 404]);
  assert.equal((await get("/api/two")).status, 200);
});

test("only who may reload does, from this site's own page", async (t) => {
  const far = await farServer(t, (_request, response) => response.end("far"));
  const { reload, made, get } = await world(t, tableOf(far.url, row("one", "/api/one")));
  const changed = tableOf(far.url, row("two", "/api/two"));
  const ben = await made.signIn("person:ben");
  const ada = await made.signIn("person:ada");
  assert.equal((await reload(changed, ben.headers)).body.code, "access_denied");
  assert.equal((await reload(changed, ada.cookie)).body.code, "csrf_failed");
  assert.equal((await reload(changed, {})).status, 401);
  assert.equal((await get("/api/two")).status, 404);
});

test("a request under way is finished by the table that it began with, and then the old connections are closed", async (t) => {
  const waiting: ServerResponse[] = [];
  const old = await farServer(t, (request, response) => {
    if (request.url === "/api/slow") waiting.push(response);
    else response.end("old");
  });
  const next = await farServer(t, (_request, response) => response.end("next"));
  const { reload, get } = await world(t, tableOf(old.url, row("slow", "/api/slow") + row("fast", "/api/fast")));
  assert.equal((await get("/api/fast")).text, "old");
  const [first, second] = [get("/api/slow"), get("/api/slow")];
  await until(
    () => waiting.length,
    (count) => count === 2,
  );
  assert.equal((await reload(tableOf(next.url, row("fast", "/api/fast")))).status, 200);
  assert.equal((await get("/api/fast")).text, "next");
  assert.equal((await get("/api/slow")).status, 404);
  assert.ok((await old.open()) >= 2, "the requests under way still have their connections");
  // A body that takes its time outlives the hold of the table.
  waiting[0]?.write("begun, ");
  waiting[0]?.flushHeaders();
  waiting[1]?.end("done");
  assert.deepEqual(await second, { status: 200, text: "done" });
  waiting[0]?.end("ended");
  assert.deepEqual(await first, { status: 200, text: "begun, ended" });
  await until(old.open, (count) => count === 0);
});

test("under load no request fails, however often the table changes, and broken files change nothing", async (t) => {
  const [one, two] = [
    await farServer(t, (_request, response) => response.end("one")),
    await farServer(t, (_request, response) => response.end("two")),
  ];
  const { reload, made } = await world(t, tableOf(one.url, row("load", "/api/load")));
  const { port } = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });
  let isOver = false;
  const seen = new Map<string, number>();
  const client = async (): Promise<void> => {
    while (!isOver) {
      const said = await new Promise<string>((resolve) => {
        const sent = request({ port, host: "127.0.0.1", path: "/api/load", headers: { host: "127.0.0.1:8080" } }, (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () => resolve(`${response.statusCode} ${text}`));
          response.on("error", (error) => resolve(String(error)));
        });
        sent.on("error", (error) => resolve(String(error)));
        sent.end();
      });
      seen.set(said, (seen.get(said) ?? 0) + 1);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  for (let round = 0; round < 20; round++) {
    const { url } = round % 2 === 0 ? two : one;
    assert.equal((await reload(tableOf(url, row("load", "/api/load")))).status, 200);
    if (round % 5 === 0) assert.equal((await reload("version: 1\nroutes: [{}]\n")).status, 422);
    const before = [...seen.values()].reduce((sum, count) => sum + count, 0);
    await until(
      () => [...seen.values()].reduce((sum, count) => sum + count, 0),
      (count) => count > before + 5,
    );
  }
  isOver = true;
  await Promise.all(clients);
  assert.deepEqual([...seen.keys()].toSorted(), ["200 one", "200 two"]);
});

test("reloads wait for one another: each is told from the one before", async (t) => {
  const far = await farServer(t, (_request, response) => response.end("far"));
  const { reload } = await world(t, tableOf(far.url, row("one", "/api/one")));
  const answers = await Promise.all([reload(tableOf(far.url, row("two", "/api/two"))), reload(), reload()]);
  const [first, ...rest] = answers.map(({ body }) => body).toSorted((a, b) => b.added.length - a.added.length);
  assert.deepEqual([first?.added, first?.removed], [["two"], ["one"]]);
  assert.ok(rest.every(({ added, revision, previous }) => added.length === 0 && revision === previous));
});

test("a mapping of the decision point's file is taken up too, and changes the row that it maps", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "reload-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const pdpConfigFile = join(folder, "pdp.yaml");
  await writeFile(pdpConfigFile, "endpoint_map: {}\nvalidation_strict: false\n");
  const routes = `version: 1\nservices: { far: { base_urls: ["http://127.0.0.1:9"] } }\nroutes:\n${reloadRow}  - { id: page, path: "/api/page/{id}", target_service: far, preserve_path: true, methods: [GET], auth: session, authz: pdp }\n`;
  const { reload, made } = await world(t, routes, { parts: { pdpConfigFile } });
  const ben = await made.signIn("person:ben");
  const code = async () => ((await (await made.fetch("/api/page/7", { headers: ben.cookie })).json()) as { code: string }).code;
  assert.equal(await code(), "no_mapping");
  await writeFile(pdpConfigFile, 'endpoint_map: { "/api/page/{id}": { GET: { resource: pages, action: view, id_from: "{id}" } } }\n');
  assert.deepEqual((await reload()).body.changed, ["page"]);
  assert.equal(await code(), "access_denied");
});
