import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cerbosInteropPolicies, requireCerbos, startCerbos } from "#testing/cerbos.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { runScript } from "./run-script.ts";
import { startTestInstance } from "./test-instance.ts";

const root = join(import.meta.dirname, "..");

test("the todo and API gateway scenarios pass over Cerbos after a change of the profile's pdp.yaml alone", async (t) => {
  if (!requireCerbos(t)) return;
  const cerbos = await startCerbos(t, cerbosInteropPolicies);
  const folder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  await cp(join(root, "config/interop"), folder, { recursive: true });
  const file = join(folder, "pdp.yaml");
  const shipped = await readFile(file, "utf8");
  const changed = shipped.replace(
    "decision_point: { kind: cedar }",
    `decision_point:
  kind: remote
  identifier: ${cerbos.identifier}
  subject_properties: { cerbos.roles: "facts.groups + ['user']", email: facts.attributes.email }`,
  );
  assert.notEqual(changed, shipped);
  await writeFile(file, changed);
  const instance = await startTestInstance({ serve: "pdp,issuer,gateway", arguments: ["--config", folder, "--no-demo"] });
  cleanUp(t, () => instance.stop());
  const token = await runScript("token.ts", ["--client", "service:pep", "--port", String(instance.port), "--data", instance.data]);
  assert.equal(token.code, 0, token.err);
  const run = (offset: number) =>
    runScript(
      "interop.ts",
      [
        "--data",
        join(root, "scripts/interop/cases"),
        "--only",
        "todo,api-gateway.yaml",
        "--pdp",
        `http://localhost:${instance.port + offset}`,
      ],
      { INTEROP_TOKEN: token.out.trim() },
    );

  for (const offset of [2, 0]) {
    const { code, out } = await run(offset);
    assert.equal(code, 0, out);
    assert.match(out, /^todo\.yaml +65 +65 +pass$/m);
    assert.match(out, /^api-gateway\.yaml +26 +26 +pass$/m);
    assert.match(out, /^all +91 +91 +pass$/m);
  }
  // It was Cerbos that decided: without it nothing that Sallyport does not know by itself is answered.
  await cerbos.kill();
  const { code, out } = await run(2);
  assert.equal(code, 1, out);
  assert.match(out, /todo\.yaml Rick reads a user: status 503 instead of 200/);
});
