import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "#contract/setting.ts";
import { membershipSettings } from "#membership/config.ts";
import { issuesOfTerms } from "./check-draft.ts";

test("what the schemas of a delegation cost together is bounded: those beyond it are named, none before them", () => {
  const tools = ["a", "b", "c", "d"].map((name) => `case.c.${name}`);
  const args = Object.fromEntries(
    tools.map((tool) => [tool, { type: "object", properties: { of: { pattern: `${tool}${"(a*|b)".repeat(650)}` } } }]),
  );
  const { values: config } = readSettings(membershipSettings, {});
  const draft = { agent_id: "agent:a", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "x", constraints: { args } };
  assert.deepEqual(
    issuesOfTerms(draft, tools, config, new Date()).map(({ path, code }) => `${path} ${code}`),
    ["c", "d"].map((name) => `/constraints/args/case.c.${name} schema_refused`),
  );
});
