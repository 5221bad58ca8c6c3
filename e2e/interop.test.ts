import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runScript } from "./run-script.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

const root = join(import.meta.dirname, "..");
const cases = join(root, "scripts/interop/cases");
const certification = join(root, "scripts/interop/certification");
const conformance = join(root, "scripts/interop/conformance");

/** A profile as the documentation starts it, and a token of its enforcement point. */
const startProfile = async (name: string) => {
  const instance = await startTestInstance({
    serve: "pdp,issuer,gateway",
    arguments: ["--config", join(root, "config", name), "--no-demo"],
  });
  const got = await runScript("token.ts", ["--client", "service:pep", "--port", String(instance.port), "--data", instance.data]);
  assert.deepEqual([got.code, got.err], [0, ""]);
  return { instance, token: got.out.trim() };
};
const runSets = (instance: TestInstance, folder: string, offset: number, environment: Readonly<Record<string, string>>) =>
  runScript("interop.ts", ["--data", folder, "--pdp", `http://localhost:${instance.port + offset}`], environment);

/** The decision point, and the gateway that passes an enforcement point through; how far their ports are from the first. */
const endpoints = [
  ["the decision point", 2],
  ["the gateway, which passes an enforcement point through", 0],
] as const;

describe("the interop profile, served without membership on the embedded database", () => {
  let instance: TestInstance;
  let token: string;
  let broken: string;
  before(async () => {
    ({ instance, token } = await startProfile("interop"));
    broken = await mkdtemp(join(tmpdir(), "interop-"));
  });
  after(async () => {
    await instance.stop();
    await rm(broken, { recursive: true, force: true });
  });

  const run = (folder: string, offset: number, more: Readonly<Record<string, string>> = { INTEROP_TOKEN: token }) =>
    runSets(instance, folder, offset, more);

  for (const [where, offset] of endpoints)
    test(`every case passes at ${where}`, async () => {
      const { code, out } = await run(cases, offset);
      assert.equal(code, 0, out);
      assert.match(out, /^all +345 +345 +pass$/m);
    });

  test("a wrong answer, a missing token and a folder without cases end with a code, and say what differs", async () => {
    await cp(join(cases, "idp.yaml"), join(broken, "idp.yaml"));
    const wrong = {
      request: { subject: { type: "user", id: "erin" }, action: { name: "delete" }, resource: { type: "record", id: "101" } },
      expected: true,
    };
    await writeFile(join(broken, "wrong.json"), JSON.stringify({ evaluation: [wrong] }));
    const one = await run(broken, 2);
    assert.equal(one.code, 1, one.out);
    assert.match(one.out, /wrong\.json 1 evaluation: answered \{"decision":false\} instead of \{"decision":true\}/);
    assert.match(one.out, /^idp\.yaml +7 +7 +pass$/m);
    const anonymous = await run(cases, 2, {});
    assert.deepEqual([anonymous.code, /status 401 instead of 200/.test(anonymous.out)], [1, true]);
    await writeFile(join(broken, "wrong.json"), '{"evaluation": 7}');
    const damaged = await run(broken, 2);
    assert.deepEqual(
      [damaged.code, /^idp\.yaml +7 +7 +pass$/m.test(damaged.out)],
      [1, true],
      "a file beside good ones that holds no cases",
    );
    assert.match(damaged.out, /^wrong\.json +- +- +FAIL: holds no requests with expected answers$/m);
    await writeFile(join(broken, "wrong.json"), "{");
    const unread = await run(broken, 2);
    assert.deepEqual([unread.code, unread.err.includes("wrong.json")], [66, true]);
    await rm(join(broken, "idp.yaml"));
    await writeFile(join(broken, "wrong.json"), "[]");
    assert.equal((await run(broken, 2)).code, 1, "no case, no pass");
    assert.equal((await run(join(broken, "absent"), 2)).code, 66);
    assert.equal((await runScript("interop.ts", ["--pdp", "http://localhost:1"])).code, 64);
    const unknown = await runScript("interop.ts", ["--data", cases, "--only", "idp,todos", "--pdp", "http://localhost:1"]);
    assert.deepEqual([unknown.code, /holds no set todos$/m.test(unknown.err)], [66, true], unknown.err);
  });

  test("without the demo only the client's own secret makes its token", async () => {
    const { code, out, err } = await runScript("token.ts", ["--client", "service:pep", "--port", String(instance.port), "--data", broken]);
    assert.deepEqual([code, out], [69, ""]);
    assert.match(err, /--data/);
    const person = await runScript("token.ts", ["--user", "ada", "--port", String(instance.port)]);
    assert.equal(person.code, 77);
  });
});

/** Modules of the suite's plans, with those that no plan lists any more; `docs/explanation/authzen.md` has the same numbers. */
const modules = [
  ["evaluation", 34],
  ["evaluations", 27],
  ["subject-search", 26],
  ["resource-search", 20],
  ["action-search", 22],
  ["discovery", 1],
] as const;

describe("the certification profile, as the documentation starts it", () => {
  let instance: TestInstance;
  let token: string;
  before(async () => ({ instance, token } = await startProfile("interop-certification")));
  after(() => instance.stop());

  for (const [where, offset] of endpoints) {
    test(`every row of the scenario passes at ${where}`, async () => {
      const { code, out } = await runSets(instance, certification, offset, { INTEROP_TOKEN: token });
      assert.equal(code, 0, out);
      assert.match(out, /^all +57 +57 +pass$/m);
    });
    test(`what the conformance suite checks, module by module, passes at ${where}`, async () => {
      const { code, out } = await runSets(instance, conformance, offset, { INTEROP_TOKEN: token });
      assert.equal(code, 0, out);
      for (const [set, cases] of modules) assert.match(out, new RegExp(`^${set}\\.yaml +${cases} +${cases} +pass$`, "m"));
    });
  }
});
