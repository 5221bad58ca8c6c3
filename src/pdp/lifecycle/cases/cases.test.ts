import assert from "node:assert/strict";
import { test } from "node:test";
import { policyFolder } from "#testing/decision-matrix.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPoliciesOf, readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { readCases, type PolicyCase } from "#pdp/bundle/case.ts";
import { runCases } from "./run-cases.ts";
import { createEngine } from "#pdp/engine/engine.ts";
import type { Finding } from "#pdp/bundle/findings.ts";

const bundle = readBundle(await readPolicyFolder(policyFolder));
const engine = createEngine(bundle);

for (const given of bundle.cases) {
  void test(`${given.file}: ${given.name}`, async () => {
    assert.deepEqual(await runCases(engine, [given]), { passed: 1, failed: [] });
  });
}

test("where no token is asked for, one file more decides, and all cases hold with it", async () => {
  const shipped = { configFile: "config/pdp.yaml", morePolicies: undefined };
  const tokenless = readBundle(await readPoliciesOf(undefined, { ...shipped, anonymousTenant: "tenant:a" }));
  const ids = new Set(readBundle(await readPoliciesOf(undefined, shipped)).policies.keys());
  assert.deepEqual(
    [...tokenless.policies.keys()].filter((id) => !ids.has(id)),
    ["secret-tokenless"],
  );
  assert.deepEqual((await runCases(createEngine(tokenless), tokenless.cases)).failed, []);
});

const own: PolicyCase = {
  name: "x",
  given: { subject: "person:a", facts: { subject: { groups: ["role:administrator"] } }, now: "2026-01-01T00:00:00Z" },
  ask: { action: "write", type: "config", id: "*", context: {} },
  expect: { decision: true },
};

test("every member that a case expects is compared, and a failure says what came instead", async () => {
  const wrong: readonly (readonly [expect: PolicyCase["expect"], got: Record<string, unknown>])[] = [
    [{ decision: false }, { decision: true }],
    [
      { decision: true, policies: [] },
      { decision: true, policies: ["platform-admin"] },
    ],
    [
      { decision: true, policies: ["platform-admin", "more"] },
      { decision: true, policies: ["platform-admin"] },
    ],
    [
      { decision: true, obligations: ["mfa"] },
      { decision: true, obligations: [] },
    ],
    [
      { decision: true, reason: "forbidden" },
      { decision: true, reason: null },
    ],
    [
      { decision: true, requestable: true },
      { decision: true, requestable: false },
    ],
  ];
  for (const [expect, got] of wrong) {
    const results = await runCases(engine, [{ ...own, expect }]);
    assert.deepEqual(results, { passed: 0, failed: [{ name: "x", expected: expect, got }] });
  }
});

test("a case whose facts are none fails instead of passing by accident", async () => {
  const results = await runCases(engine, [{ ...own, given: { ...own.given, facts: { capability: "yes" } }, expect: { decision: false } }]);
  assert.equal(results.passed, 0);
  assert.match(String(results.failed[0]?.got["error"]), /capability/);
});

test("files of cases are read with every issue and its place", () => {
  const bad: readonly (readonly [text: string, says: RegExp, line: number | undefined])[] = [
    ["name: x", /must be a list/, undefined],
    ["- name: [", /Flow sequence/, undefined],
    ["- name: x\n  given: { subject: a }\n  ask: { action: b, resource: c }", /expect/, 1],
    ["- name: x\n  given: { subject: a }\n  ask: { action: b, resource: c }\n  expect: { decision: maybe }", /expect\/decision/, 4],
    ["- name: x\n  given: { subject: a }\n  ask: { action: b, resource: c }\n  expect: { decision: true, polices: [] }", /polices/, 4],
    [
      "- &a\n  name: x\n  given: { subject: a }\n  ask: { action: b, resource: c }\n  expect: { decision: true }\n- *a",
      /repeats the name/,
      undefined,
    ],
    ["- a: 1\n  a: 2", /unique/, 2],
  ];
  for (const [text, says, line] of bad) {
    const issues: Finding[] = [];
    readCases({ "cases/mine.yaml": text }, issues);
    assert.match(issues[0]?.message ?? "", says, text);
    assert.equal(issues[0]?.file, "policies/cases/mine.yaml");
    if (line !== undefined) assert.equal(issues[0]?.line, line, text);
  }
});

test("a resource of a case is a type, or a type with an id", () => {
  const head = "- name: x\n  given: { subject: a }\n  expect: { decision: true }\n  ask: ";
  const readOne = (ask: string) => readCases({ "cases/a.yaml": head + ask }, [])[0]?.ask;
  const wanted = { action: "view", type: "pages", id: "p", context: {} };
  assert.deepEqual(readOne("{ action: view, resource: pages, id: p }"), wanted);
  assert.deepEqual(readOne("{ action: view, resource: { type: pages, id: p } }"), wanted);
  assert.equal(readOne("{ action: view, resource: pages }")?.id, "*");
});
