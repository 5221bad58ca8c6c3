import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile, cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { DecisionRecord } from "#contract/decisions.ts";
import { createLog } from "#telemetry/log.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { testDatabase } from "#testing/database.ts";
import { pdpConfig, pdpModules, pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { BundleRefused } from "./bundle/bundle-refused.ts";
import { readPolicyFolder } from "./bundle/policy-files.ts";
import { importBundle } from "./lifecycle/rollout/import-bundle.ts";
import { findNewestDraft, readContent } from "./lifecycle/rollout/version-store.ts";
import { graphWorld } from "#testing/membership.ts";
import { ConfigurationRefused, parsePdpConfiguration, readPdpConfiguration } from "./model/configuration-file.ts";

const folderOf = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "pdp-"));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
};
const fileOf = async (t: TestContext, text: string): Promise<string> => {
  const file = join(await folderOf(t), "pdp.yaml");
  await writeFile(file, text);
  return file;
};
const dan = (action: string, type: string) => ({
  subject: { type: "identity", id: "person:dan", properties: { tenant: "tenant:acme" } },
  action: { name: action },
  resource: { type, id: "*" },
});

test("the configuration file that ships is understood", async () => {
  const read = await readPdpConfiguration(new URL("../../config/pdp.yaml", import.meta.url).pathname);
  assert.equal(read.enable_authorization, true);
  assert.equal((await readPdpConfiguration("/nonexistent/pdp.yaml")).decision_point.kind, "cedar");
});

test("a configuration file with a fault is refused with each of them", () => {
  const cases: readonly (readonly [text: string, says: RegExp])[] = [
    ["enable_authorisation: true", /enable_authorisation/],
    ["enable_authorization: yes please", /enable_authorization/],
    ["decision_point: { kind: remote }", /decision_point/],
    ["facts: { kind: file }\npolicy_dir: 7", /policy_dir[\s\S]*facts/],
    ["a: [", /pdp\.yaml/],
    ["a: 1\na: 2", /unique/i],
    [`a: ${"[".repeat(50)}${"]".repeat(50)}`, /nested deeper/],
  ];
  for (const [text, says] of cases) {
    assert.throws(
      () => parsePdpConfiguration(text, "pdp.yaml"),
      (error: unknown) => error instanceof ConfigurationRefused && error.exitCode === 78 && says.test(error.message),
      text,
    );
  }
});

test("a fault of the configuration file is named with line, column and key, an unknown key as such", () => {
  const text = "validation_strict: maybe\nfacts:\n  kind: file\n  colour: red\n  path: f.yaml\n'shade': 1\n";
  assert.throws(() => parsePdpConfiguration(text, "/etc/pdp.yaml"), {
    message: [
      "/etc/pdp.yaml:4:3 /facts/colour: is not known here",
      "/etc/pdp.yaml:1:20 /validation_strict: Invalid input: expected boolean, received string",
      "/etc/pdp.yaml:6:1 /shade: is not known here",
    ].join("\n"),
  });
  assert.throws(() => parsePdpConfiguration("a: 1\na: 2", "/etc/pdp.yaml"), { message: /^\/etc\/pdp\.yaml:2:1 Map keys must be unique/ });
});

test("another profile's policies on the data folder of this one are refused with the advice to take a folder of their own", async (t) => {
  const database = await testDatabase(t, pdpModules);
  const { change } = await graphWorld(database);
  const parts = { database, change };
  const { active } = await importBundle(parts, await readPolicyFolder(policyFolder), true);
  const interop = await readPolicyFolder(new URL("../../config/interop/policies/", import.meta.url).pathname);
  await assert.rejects(importBundle(parts, interop, true), (error: unknown) => {
    assert.ok(error instanceof BundleRefused);
    assert.match(error.message, /nobody could take it back/);
    assert.ok(error.message.includes(`${active} decides here; nothing was changed. `));
    assert.match(error.message, /a data folder of their own \(--data DIR\)/);
    return true;
  });
});

test("the documents start each profile on a data folder of its own, and ask for its tokens there", async () => {
  let started = 0;
  for (const name of ["howto/ask-for-decisions.md", "howto/remote-decision-point.md"]) {
    const text = await readFile(new URL(`../../docs/${name}`, import.meta.url), "utf8");
    for (const [, folder] of text.matchAll(/^npm start -- --config \S*interop\S*(?: --data (\S+))?.*$/gm)) {
      started += 1;
      assert.ok(folder?.startsWith(".sallyport/"), `${name} starts a profile on Sallyport's own data folder`);
      assert.ok(text.includes(`npm run --silent token -- --client service:pep --data ${folder})`), `${name}: token of ${folder}`);
    }
  }
  assert.equal(started, 3);
});

test("policies with a fault stop the start, with every fault", async (t) => {
  const folder = await folderOf(t);
  await cp(policyFolder, folder, { recursive: true });
  await writeFile(join(folder, "mine.cedar"), "permit (principal, action, resource);");
  const file = await fileOf(t, `policy_dir: ${folder}`);
  await assert.rejects(
    pdpWorld(t, { settings: { PDP_CONFIG_FILE: file } }),
    (error: unknown) => error instanceof BundleRefused && /^policies\/mine\.cedar:1:1 .*@id.* \(.+\)$/m.test(error.message),
  );
});

test("a folder without policies is refused, with the file that names it", async (t) => {
  const folder = await folderOf(t);
  const file = await fileOf(t, `policy_dir: ${folder}`);
  await assert.rejects(pdpWorld(t, { settings: { PDP_CONFIG_FILE: file } }), {
    name: "BundleRefused",
    message: `${folder}: holds no policies (policy_dir of ${file})`,
  });
});

test("policies of an own folder decide, and explanations name their file", async (t) => {
  const folder = await folderOf(t);
  await cp(policyFolder, folder, { recursive: true });
  await writeFile(
    join(folder, "mine.cedar"),
    '@id("everybody-lists-tools") @description("x")\npermit (principal, action == Action::"tools:view_all", resource);',
  );
  const file = await fileOf(t, `policy_dir: ${folder}`);
  const world = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: file } });
  const reply = (await (
    await world.ask("/access/v1/evaluation", await world.serviceToken(), dan("view_all", "tools"))
  ).json()) as EvaluationReply;
  assert.equal(reply.decision, true);
  const published = await world.ask(`/access/v1/decisions/${reply.context?.decision_id}`, await world.personToken("ada"));
  const { policies } = (await published.json()) as DecisionRecord;
  const mine = policies?.find(({ id }) => id === "everybody-lists-tools");
  assert.deepEqual([mine?.decided, mine?.file, mine?.line], [true, "policies/mine.cedar", 1]);
});

test("authorization switched off permits everything in dev and test, loudly, and stops the start in production", async (t) => {
  const file = await fileOf(t, "enable_authorization: false");
  const lines: string[] = [];
  const log = createLog({ level: "info", service: "pdp", version: "0", environment: "test", write: (line) => lines.push(line) });
  const world = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: file }, parts: { log } });
  const token = await world.serviceToken();
  const response = await world.ask("/access/v1/evaluation", token, dan("activate", "policies"));
  assert.equal(((await response.json()) as EvaluationReply).decision, true);
  assert.equal(response.headers.get("x-authorization-disabled"), "1");
  assert.equal(((await (await world.ask("/health/ready", undefined)).json()) as { status: string }).status, "degraded");
  assert.ok(lines.some((line) => line.includes("pdp_authorization_disabled")));
  const foreign = { ...dan("view", "pages"), resource: { type: "identities", id: "person:eve" } };
  assert.equal(((await (await world.ask("/access/v1/evaluation", token, foreign)).json()) as EvaluationReply).decision, false);
  assert.equal((await world.ask("/access/v1/evaluation", undefined, foreign)).status, 401);
  const isRefused = (error: unknown): boolean => error instanceof ConfigurationRefused && error.exitCode === 78;
  await assert.rejects(
    pdpWorld(t, { settings: { PDP_CONFIG_FILE: file, PDP_PUBLIC_URL: "https://pdp.example" }, parts: { environment: "production" } }),
    isRefused,
  );
});

test("the public address is https, or http on loopback in dev and test", async (t) => {
  const isRefused = (error: unknown): boolean => error instanceof ConfigurationRefused;
  await assert.rejects(pdpWorld(t, { settings: { PDP_PUBLIC_URL: "http://pdp.example" } }), isRefused);
  await assert.rejects(pdpWorld(t, { parts: { environment: "production" } }), isRefused);
  assert.equal(pdpConfig().publicUrl, "http://localhost:8082");
});

test("changed policies decide at once where they may, elsewhere they wait as a draft; none is ever lost", async (t) => {
  const database = await testDatabase(t, pdpModules);
  const { change, entries } = await graphWorld(database);
  const parts = { database, change };
  const files = await readPolicyFolder(policyFolder);
  const changed = { ...files, "pages.cedar": `${files["pages.cedar"]}\n// changed` };
  const broken = { ...files, "pages.cedar": `${files["pages.cedar"]}\npermit (` };
  const first = await importBundle(parts, files, false);
  assert.match(first.active, /^v1\+[0-9a-f]{12}$/);
  assert.equal(first.draft, undefined);
  assert.deepEqual(await importBundle(parts, files, false), { active: first.active });
  const draft = await importBundle(parts, changed, false);
  assert.equal(draft.active, first.active);
  assert.match(draft.draft ?? "", /^v2\+/);
  assert.deepEqual(await importBundle(parts, files, true), { active: first.active });
  const active = await importBundle(parts, changed, true);
  assert.equal(active.active, draft.draft);
  // Files that did not change since the last start undo nothing that was done in between.
  assert.deepEqual(await importBundle(parts, changed, true), { active: active.active });
  await assert.rejects(importBundle(parts, broken, true), BundleRefused);
  const faulty = await importBundle(parts, broken, false);
  assert.equal(faulty.active, active.active);
  assert.match(faulty.issues?.join("\n") ?? "", /policies\/pages\.cedar:\d+:\d+ .*unexpected end/);
  const stored = await findNewestDraft(database);
  assert.equal(stored?.version, faulty.draft);
  assert.equal((await readContent(database, stored?.version ?? ""))?.report.valid, false);
  assert.deepEqual(
    entries.filter(({ category }) => category === "policy").map(({ data }) => [data["op"], data["version"], data["active"]]),
    [
      ["imported", first.active, true],
      ["imported", draft.draft, false],
      ["imported", first.active, true],
      ["imported", active.active, true],
      ["imported", faulty.draft, false],
    ],
  );
});

test("policies of whom a case is not met, or that lock everybody out, do not decide at start", async (t) => {
  const database = await testDatabase(t, pdpModules);
  const parts = { database, change: (await graphWorld(database)).change };
  const files = await readPolicyFolder(policyFolder);
  const { active } = await importBundle(parts, files, true);
  const without = (files["administration.cedar"] ?? "").replace('Action::"deployment_act",', "");
  const wrong = `${files["cases/pages.yaml"]}\n- name: dan sees all\n  given: { subject: person:dan }\n  ask: { action: view_all, resource: pages }\n  expect: { decision: true }\n`;
  for (const [name, text, says] of [
    ["administration.cedar", without, /denies policies\/activate to every person/],
    ["cases/pages.yaml", wrong, /the case fails: dan sees all/],
  ] as const) {
    await assert.rejects(
      importBundle(parts, { ...files, [name]: text }, true),
      (error: unknown) => error instanceof BundleRefused && says.test(error.message),
    );
  }
  assert.deepEqual(await importBundle(parts, files, true), { active });
});

test("an old decision is explained by the policies that made it", async (t) => {
  const folder = await folderOf(t);
  await cp(policyFolder, folder, { recursive: true });
  const text =
    '@id("dan-lists-tools") @description("x")\npermit (principal == Person::"person:dan", action == Action::"tools:view_all", resource);';
  await writeFile(join(folder, "mine.cedar"), text);
  const file = await fileOf(t, `policy_dir: ${folder}`);
  const before = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: file } });
  const ask = async (world: PdpWorld) =>
    (await (await world.ask("/access/v1/evaluation", await world.serviceToken(), dan("view_all", "tools"))).json()) as EvaluationReply;
  const permit = await ask(before);
  assert.equal(permit.decision, true);
  const after = await pdpWorld(t, { over: before });
  assert.equal((await ask(after)).decision, false);
  const response = await after.ask(`/access/v1/decisions/${permit.context?.decision_id}?remedy=true`, await after.personToken("ada"));
  const record = (await response.json()) as DecisionRecord;
  assert.match(record.policy_version ?? "", /^v1\+/);
  assert.equal(record.policies?.[0]?.id, "dan-lists-tools");
  assert.equal(record.policies[0].text, text);
  assert.equal(record.policies[0].file, "policies/mine.cedar");
  assert.deepEqual(record.now, { decision: false, reason: "not_granted" });
});
