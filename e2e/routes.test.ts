import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Explanation } from "#contract/routes.ts";
import { until } from "#testing/until.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { startCommand, runCommand, runScript } from "./run-script.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const root = join(import.meta.dirname, "..");

/** The command line as a person runs it. */
const routes = (...given: readonly string[]) => runScript("routes.ts", given);

const fine =
  '  - { id: extra, path: "/api/extra/{id}", target_service: crud, upstream_path: "/{id}", methods: [GET], auth: session, authz: pdp, authz_map: { GET: { resource: forms, action: view, id_from: "{id}" } } }\n';
/** A fault of the row's shape, one of its meaning, one of its words. */
const broken = `${fine.replace("id: extra", "id: Extra")}${fine.replace('upstream_path: "/{id}"', 'upstream_path: "/{name}"').replace("action: view", "action: burn")}`;

describe("the route table of a running instance", () => {
  let instance: TestInstance;
  let folder: string;
  let file: string;
  let shipped: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "sallyport-routes-"));
    file = join(folder, "routes.yaml");
    shipped = await readFile(join(root, "config/routes.yaml"), "utf8");
    await writeFile(file, shipped);
    await copyFile(join(root, "config/pdp.yaml"), join(folder, "pdp.yaml"));
    instance = await startTestInstance({ environment: { ROUTES_FILE: file } });
  });
  after(async () => {
    await instance.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const port = () => ["--port", String(instance.port)];
  const json = async (...given: readonly string[]) =>
    JSON.parse((await routes("explain", ...given, "--json", ...port())).out) as Explanation;

  test("a person asks what a request would meet, and the live request meets it", async () => {
    const text = await routes("explain", "GET", "/api/v1/stream/health", "--user", "ben", ...port());
    assert.equal(text.code, 0, text.err);
    assert.match(text.out, /^row +streams\.health {2}\/api\/v1\/stream\/health {2}auth session, authz pdp \(.*routes\.yaml:\d+\)$/m);
    assert.match(text.out, /^mapping +streams\/config from authz_map \(.*routes\.yaml:\d+\)$/m);
    assert.match(text.out, /^answer +handled by the gateway itself$/m);
    const denied = await json("GET", "/api/v1/events/activity", "--user", "dan");
    assert.deepEqual([denied.answer.outcome, denied.answer.status, denied.answer.code], ["refused", 403, "access_denied"]);
    const allowed = await json("GET", "/api/v1/events/activity", "--user", "ben");
    assert.deepEqual([allowed.answer.outcome, allowed.upstream?.path], ["forwarded", "/events/activity"]);
    const foreign = await json("GET", "/api/v1/events/activity", "--user", "eve");
    assert.equal(foreign.answer.code, "access_denied", "an identity of another tenant is nobody here");
    assert.equal((await json("GET", "/api/../x")).answer.code, "ambiguous_target");
    const form = await json("GET", "/api/crud/forms/7");
    assert.deepEqual([form.row?.id, form.upstream?.path], ["crud.form", "/forms/7"]);
    assert.equal((await json("GET", "/api/crud/systems/7")).row?.id, "crud.rest");
    const body = join(folder, "body.json");
    await writeFile(body, '{"name":"x"}');
    assert.equal(
      (await json("POST", "/api/crud/mcp/tools/call", "--user", "ben", "--agent", "agent:hr-assistant", "--body", body)).row?.id,
      "crud.mcp.bearer",
    );
  });

  test("only who may explain is told", async () => {
    const refused = await routes("explain", "GET", "/", "--as", "ben", ...port());
    assert.deepEqual([refused.code, /403 access_denied/.test(refused.err)], [77, true]);
    assert.equal((await routes("explain", "GET", ...port())).code, 64);
    assert.equal((await routes("reload", "--as", "ben", ...port())).code, 77);
    assert.equal((await routes("explain", "GET", "/", "--port", "1")).code, 69);
  });

  test("a signal and a call take up the changed file; a broken one changes nothing and names every fault; a start on it exits 78", async () => {
    const token = await fetchToken(instance.port, { user: "ada" });
    const status = async (): Promise<number> =>
      (await fetch(`${instance.origin}/api/extra/7`, { headers: { authorization: `Bearer ${token}` } })).status;
    assert.equal(await status(), 404);
    await writeFile(file, `${shipped}${fine}`);
    instance.process.kill("SIGHUP");
    await until(instance.output, (text) => /Route table \w+ -> \w+: 1 rows added, 0 changed, 0 removed\./.test(text));
    assert.equal(await status(), 401, "the row is there and wants a session");

    await writeFile(file, `${shipped}${broken}`);
    const line = shipped.split("\n").length;
    const rows = (shipped.match(/^ {2}- /gm) ?? []).length;
    const column = (at: number, text: string) => (broken.split("\n")[at] ?? "").indexOf(text) + 1;
    const issues = [
      `${file}:${line}:${column(0, "Extra")} /routes/${rows}/id: row Extra: must be 1-64 of a-z 0-9 . _ - and begin with a letter`,
      `${file}:${line + 1}:${column(1, '"/{name}"')} /routes/${rows + 1}/upstream_path: row extra: {name} is not captured by the path`,
      `${file}:${line + 1}:${column(1, "{ resource")} /routes/${rows + 1}/authz_map/GET: row extra: forms/burn is not a pair that the decision point knows`,
    ];
    const checked = await routes("check", "--config", folder);
    const called = await routes("reload", ...port());
    instance.process.kill("SIGHUP");
    await until(instance.output, (text) => text.includes("The route table was not reloaded; the one in force stays."));
    const port2 = await findFreePorts();
    const command = startCommand(["--port", String(port2), "--data", join(folder, "data")]);
    const start = await runCommand(command, { ENVIRONMENT: "test", ROUTES_FILE: file });
    assert.deepEqual([checked.code, called.code, start.code], [78, 78, 78]);
    await until(instance.output, (text) => issues.every((issue) => text.includes(issue)));
    for (const [who, text] of Object.entries({ checked: checked.err, called: called.err, start: start.err }))
      for (const issue of issues) assert.ok(text.includes(issue), `${who}: ${issue}\n${text}`);
    await assert.rejects(
      new Promise((resolve, reject) => {
        connect({ port: port2, host: "127.0.0.1" }, () => resolve(undefined)).on("error", reject);
      }),
    );
    assert.equal(await status(), 401, "the table in force stays");

    await writeFile(file, shipped);
    const back = await routes("reload", ...port());
    assert.equal(back.code, 0, back.err);
    assert.match(back.out, /^removed +extra$/m);
    assert.equal(await status(), 404);
  });
});
