import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { faultWorld, importIssues, member, ndjson } from "#membership/transfer/import-issues.contract.ts";
import { statement } from "#store/database.ts";
import { createPglite } from "#store/pglite.ts";
import { layDatabase } from "#testing/database.ts";
import { graphModules, graphWorld } from "#testing/membership.ts";
import { silentLog } from "#telemetry/log.ts";
import { runCommand, scriptCommand } from "../e2e/run-script.ts";

const REPORTED = statement<{ type: string; sink: string | null; tenant: string; version: number }>(
  "test.told",
  "select type, sink, tenant, (data ->> 'graph_version')::int as version from events.outbox order by type",
);

/** Gives a command a terminal, and says what it wrote there. */
const TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

const command = (...given: readonly string[]) => scriptCommand("graph.ts", given);
const execute = async (ask: ReturnType<typeof command>, more: Readonly<Record<string, string>> = {}) => {
  const { code, out, err } = await runCommand(ask, { ...more, DATABASE_URL: "", SALLYPORT_INVOKED_FROM: undefined });
  return { code, said: `${out}${err}` };
};
const run = (...given: readonly string[]) => execute(command(...given));

const openFolder = (folder: string) => createPglite({ dataFolder: folder, log: silentLog });

test("what the graph refuses of a file the command names by its line; a file gives roles where --roles is said, and nowhere else", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-graph-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [file, data] = [join(folder, "file.ndjson"), join(folder, "data")];
  {
    await layDatabase(data, graphModules);
    await using database = await openFolder(data);
    await (await graphWorld(database)).put(...faultWorld);
  }
  const send = async (text: string, ...more: readonly string[]) => {
    await writeFile(file, text);
    return run("import", file, "--data", data, ...more);
  };
  const each = importIssues.filter(({ code }, at) => importIssues.findIndex((other) => other.code === code) === at);
  for (const { what, lines, line, path, code } of each) {
    const { code: exit, said } = await send(ndjson(...lines), "--tenant", "tenant:acme");
    const named = said.split("\n").flatMap((one) => /^ {2}(line .*?): /.exec(one)?.[1] ?? []);
    assert.deepEqual([what, exit, named], [what, 65, [`line ${line}  ${path}  ${code}`]], said);
  }
  const mallory = ndjson(
    { node: { id: "person:mallory", kind: "Person", name: "M", tenant_id: "tenant:acme" } },
    member("person:mallory", "role:administrator"),
  );
  for (const more of [[], ["--tenant", "tenant:acme"], ["--dry-run"]]) {
    const { code, said } = await send(mallory, ...more);
    assert.deepEqual([more, code, /line 2 {2}\/ {2}access_denied/.test(said), /--roles/.test(said)], [more, 65, true, true], said);
  }
  const { code, said } = await send(mallory, "--roles");
  assert.deepEqual([code, /2 written/.test(said)], [0, true], said);
  assert.ok(!said.includes("\r"), "progress is for a terminal");

  if (spawnSync("python3", ["-c", "import pty"]).status !== 0)
    return t.diagnostic("progress on a terminal is looked at where there is a Python 3");
  const shown = await execute(["python3", "-c", TERMINAL, ...command("import", file, "--data", data, "--roles")]);
  const steps = shown.said.split("\r").map((one) => one.replaceAll("\u001b[K", "").trim());
  assert.deepEqual([shown.code, steps.includes("2 lines read"), steps.includes("2 of 2 rows written")], [0, true, true], shown.said);
  assert.match(steps.at(-2) ?? "", /^2 lines: 0 written/, "the line of progress is gone before the last word");
});

test("a graph is made up, imported, exported and imported again, by a command on the stopped instance's folder", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-graph-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);
  const data = ["--data", at("data")];
  const made = ["generate", at("made.ndjson"), "--scale", "0.002", "--hostile"];
  assert.equal((await run(...made)).code, 0);
  const text = await readFile(at("made.ndjson"), "utf8");
  assert.equal((await run("generate", at("again.ndjson"), "--persons", "200", "--hostile")).code, 0);
  assert.equal(await readFile(at("again.ndjson"), "utf8"), text, "the same seed, the same bytes");

  assert.deepEqual([(await run("import", at("none"), ...data)).code, (await run("import", at("made.ndjson"), ...data)).code], [66, 66]);
  await layDatabase(at("data"), graphModules);
  const database = await openFolder(at("data"));
  const locked = await run("import", at("made.ndjson"), ...data);
  assert.deepEqual([locked.code, /Stop Sallyport first/.test(locked.said)], [73, true], locked.said);
  await database[Symbol.asyncDispose]();

  await writeFile(at("bad.ndjson"), `${text}{"edge":{"kind":"MEMBER_OF","src":"group:g0","dst":"group:never"}}\n`);
  const bad = await run("import", at("bad.ndjson"), ...data);
  assert.equal(bad.code, 65, bad.said);
  assert.match(bad.said, new RegExp(`line ${text.split("\n").length}  /dst`));
  const tried = await run("import", at("made.ndjson"), "--dry-run", ...data);
  assert.match(tried.said, /lines are right/, tried.said);
  const done = await run("import", at("made.ndjson"), ...data);
  assert.match(done.said, /The graph is at version 1\./, done.said);
  const out = await run("export", at("out.ndjson"), ...data);
  assert.equal(out.code, 0, out.said);
  const same = await run("import", at("out.ndjson"), ...data);
  assert.match(same.said, / 0 written, .* version 1\./, same.said);
  const one = await run("export", at("one.csv"), "--tenant", "tenant:t0", "--csv", "nodes", ...data);
  assert.equal(one.code, 0, one.said);
  assert.match((await readFile(at("one.csv"), "utf8")).split("\n")[0] ?? "", /^id,kind,name,/);

  // What Kafka hears of is kept for it where Sallyport has one, and only there.
  const [line = "", ...others] = text.split("\n").filter((one) => one.includes('"kind":"Group"'));
  const { node } = JSON.parse(line) as { node: { name: string } };
  assert.ok(others.length > 0, line);
  await writeFile(at("renamed.ndjson"), `${JSON.stringify({ node: { ...node, name: "Renamed" } })}\n`);
  const renamed = await execute(command("import", at("renamed.ndjson"), ...data), { KAFKA_BROKERS: "127.0.0.1:1" });
  assert.match(renamed.said, /version 2\./, renamed.said);
  await using reported = await openFolder(at("data"));
  const toKafka = { sink: "kafka", tenant: "*", version: 2 };
  assert.deepEqual(await reported.run(REPORTED), [
    { type: "graph.changed", ...toKafka },
    { type: "import.finished", ...toKafka },
  ]);
  for (const wrong of [
    ["import"],
    ["nonsense", "x"],
    ["import", "a", "b"],
    ["import", at("made.ndjson"), "--on-conflict", "x"],
    ["export", "x", "--what"],
  ])
    assert.equal((await run(...wrong)).code, 64, wrong.join(" "));
});
