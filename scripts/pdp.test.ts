import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { importBundle } from "#pdp/lifecycle/rollout/import-bundle.ts";
import { readPointer } from "#pdp/lifecycle/rollout/pointer.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { createPglite } from "#store/pglite.ts";
import { silentLog } from "#telemetry/log.ts";
import { layDatabase } from "#testing/database.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { graphWorld } from "#testing/membership.ts";
import { pdpModules } from "#testing/pdp.ts";
import { runScript } from "../e2e/run-script.ts";

const run = (...args: readonly string[]) => runScript("pdp.ts", args, { DATABASE_URL: "" });

test("a wrong call says how it is meant, and touches nothing", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-script-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const wrong: readonly (readonly [args: readonly string[], code: number, says: RegExp])[] = [
    [[], 64, /rollback \[VERSION\]/],
    [["roll"], 64, /rollback \[VERSION\]/],
    [["rollback", "three"], 64, /is no version/],
    [["rollback", "v1", "v2"], 64, /rollback \[VERSION\]/],
    [["rollback", "--now"], 64, /--now/],
    [["rollback", "--data", join(folder, "nowhere")], 66, /no data folder/],
  ];
  for (const [args, code, says] of wrong) {
    const done = await run(...args);
    assert.equal(done.code, code, args.join(" "));
    assert.match(done.err, says, args.join(" "));
    assert.equal(done.out, "");
  }
});

test("the last version is taken back on the data folder of a stopped instance, and refused while it runs", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-script-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const files = await readPolicyFolder(policyFolder);
  const versions = await (async () => {
    await layDatabase(folder, pdpModules);
    await using database = await createPglite({ dataFolder: folder, log: silentLog });
    const parts = { database, change: (await graphWorld(database, { demo: false })).change };
    const { active: first } = await importBundle(parts, files, true);
    const { active: second } = await importBundle(parts, { ...files, "extra.cedar": "// nothing" }, true);
    const held = await run("rollback", "--data", folder);
    assert.equal(held.code, 73, held.err);
    assert.match(held.err, /Stop Sallyport first/);
    return { first, second };
  })();
  const done = await run("rollback", "--data", folder);
  assert.equal(done.code, 0, done.err);
  assert.equal(done.out, `${versions.first} decides again, instead of ${versions.second}. The next start writes it to the audit log.\n`);
  const again = await run("rollback", versions.first, "--data", folder);
  assert.equal(again.code, 77);
  assert.match(again.err, /is active/);
  const listed = await run("versions", "--data", folder);
  assert.deepEqual(
    listed.out
      .trim()
      .split("\n")
      .map((line) => line.split("\t").slice(0, 2)),
    [
      [versions.second, "retired"],
      [versions.first, "active"],
    ],
  );
  await using database = await createPglite({ dataFolder: folder, log: silentLog });
  assert.equal((await readPointer(database))?.active, versions.first);
  const [act] = await database.run<{ by: string }>({ name: "testing.act", text: "select act ->> 'by' as by from pdp.offline_act" });
  assert.equal(act?.by, userInfo().username);
});
