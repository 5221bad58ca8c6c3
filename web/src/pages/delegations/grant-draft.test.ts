import assert from "node:assert/strict";
import { test } from "node:test";
import { delegationDraft } from "#contract/delegations.ts";
import { draftOf, emptyForm, endOf, faultyFields, furthestStep, type GrantForm } from "./grant-draft.ts";

const now = new Date(2026, 10, 21, 12, 0, 0);
const form: GrantForm = {
  agentId: "agent:hr-assistant",
  tools: ["people.demo.list_employees", "people.demo.get_employee"],
  maxSteps: "50",
  budget: "5.00",
  end: "2026-12-21",
  purpose: "Answer questions",
};

test("a filled-in form is a draft that the contract takes", () => {
  const draft = draftOf(form, now);
  assert.ok(draft !== undefined);
  assert.deepEqual(delegationDraft.parse(draft), draft);
  assert.deepEqual(draft.capabilities, ["people.demo.get_employee", "people.demo.list_employees"]);
  assert.equal(draft.budget_usd, 5);
  assert.equal(draft.max_steps, 50);
});

test("the same form is the same draft whenever it is asked for", () => {
  assert.deepEqual(draftOf(form, now), draftOf({ ...form, tools: form.tools?.toReversed() }, new Date(now.getTime() + 60_000)));
});

test("all tools, now and later, is said with null", () => {
  const { tools: _tools, ...rest } = form;
  assert.equal(draftOf(rest, now)?.capabilities, null);
});

test("an empty form stops at its first step; a restored one does not get past what is wrong", () => {
  assert.equal(furthestStep(emptyForm(now), now), "agent");
  assert.equal(furthestStep({ ...form, tools: [] }, now), "tools");
  assert.equal(furthestStep({ ...form, budget: "five" }, now), "limits");
  assert.equal(furthestStep(form, now), "check");
  assert.equal(draftOf({ ...form, tools: [] }, now), undefined);
});

test("an untouched form has limits that are right but for the purpose", () => {
  assert.deepEqual(faultyFields("limits", emptyForm(now), now), ["purpose"]);
});

for (const [field, text] of [
  ["maxSteps", "0"],
  ["maxSteps", "100001"],
  ["maxSteps", "1.5"],
  ["maxSteps", ""],
  ["budget", "10000.01"],
  ["budget", "-1"],
  ["budget", "1,5"],
  ["end", "2026-11-21"],
  ["end", "2027-11-22"],
  ["end", "2026-02-30"],
  ["end", "tomorrow"],
  ["purpose", " a "],
  ["purpose", "x".repeat(501)],
] as const)
  test(`${field} may not be ${JSON.stringify(text.slice(0, 20))}`, () =>
    assert.deepEqual(faultyFields("limits", { ...form, [field]: text }, now), [field]));

test("the last day counts to its end, from tomorrow up to a year", () => {
  assert.equal(endOf("2026-11-22", now)?.getHours(), 23);
  assert.ok(endOf("2027-11-20", now) !== undefined);
  assert.equal(endOf("2026-13-01", now), undefined);
});
