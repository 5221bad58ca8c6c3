import assert from "node:assert/strict";
import { readFile, rm, mkdtemp, cp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { requireCerbos, startCerbos } from "#testing/cerbos.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";

const root = join(import.meta.dirname, "..");

test("pages and widgets are decided by Cerbos after a change of config/pdp.yaml alone", async (t) => {
  if (!requireCerbos(t)) return;
  const cerbos = await startCerbos(t);
  const folder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  await cp(join(root, "config"), folder, { recursive: true });
  const file = join(folder, "pdp.yaml");
  const shipped = await readFile(file, "utf8");
  const changed = shipped
    .replace(
      "decision_point: { kind: cedar }",
      `decision_point:
  kind: remote
  identifier: ${cerbos.identifier}
  facts: full
  subject_properties: { cerbos.roles: "facts.groups + ['user']" }`,
    )
    .replace("../src/pdp/policies", join(root, "src/pdp/policies"));
  assert.notEqual(changed, shipped);
  await writeFile(file, changed);
  const instance = await startTestInstance({ arguments: ["--config", folder] });
  cleanUp(t, () => instance.stop());

  const asked = [
    ["pages", "view_all"],
    ["pages", "view", "people"],
    ["pages", "view", "operations"],
    ["page.widget", "view", "people:grid:employees"],
    ["page.widget", "view", "people:action:offboard"],
    ["page.widget", "view", "operations:grid:runs"],
  ] as const;
  const ask = async (login: string) => {
    const person = await signInPerson(instance.origin, login);
    const evaluations = asked.map(([type, action, id], index) => ({
      key: String(index),
      action: { name: action },
      resource: { type, ...(id === undefined ? {} : { id }) },
    }));
    const response = await fetch(`${instance.origin}/access/v1/evaluations`, {
      method: "POST",
      headers: person.headers,
      body: JSON.stringify({ evaluations }),
    });
    const text = await response.text();
    return {
      status: response.status,
      shown: ((JSON.parse(text) as { evaluations?: { decision: boolean }[] }).evaluations ?? []).map((one) => one.decision),
    };
  };
  assert.deepEqual(await ask("ada"), { status: 200, shown: [true, true, true, true, false, true] });
  assert.deepEqual(await ask("ben"), { status: 200, shown: [true, true, false, true, true, false] });
  assert.deepEqual(await ask("dan"), { status: 200, shown: [false, false, false, false, false, false] });
  const health = async () => {
    const response = await fetch(`${instance.origin}/api/v1/health`);
    const { status, checks } = (await response.json()) as { status: string; checks: { pdp: { status: string; reasons?: string[] } } };
    return { answer: response.status, status, pdp: checks.pdp.status, reasons: checks.pdp.reasons };
  };
  assert.deepEqual(await health(), { answer: 200, status: "healthy", pdp: "up", reasons: undefined });
  await cerbos.kill();
  assert.deepEqual(await ask("ben"), { status: 503, shown: [] });
  const fallen = await until(health, ({ status }) => status !== "healthy");
  assert.deepEqual(fallen, { answer: 200, status: "degraded", pdp: "down", reasons: ["decision_point"] });
  assert.equal((await fetch(`${instance.origin}/api/v1/health/ready`)).status, 200, "sessions and what needs no decision go on");
});
