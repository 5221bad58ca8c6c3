import assert from "node:assert/strict";
import { test } from "node:test";
import { isStepUp, readStepUp, signInPath } from "./step-up.ts";

const CHALLENGE = 'Bearer error="insufficient_user_authentication", acr_values="phishing_resistant", max_age=60';

test("only a challenge for more assurance is a step-up", () => {
  assert.equal(isStepUp(CHALLENGE), true);
  assert.equal(isStepUp("Bearer error=insufficient_user_authentication"), true);
  for (const other of [null, "", "Bearer", "Cookie", 'Bearer error="invalid_token"']) assert.equal(isStepUp(other), false, String(other));
});

for (const [name, members, expected] of [
  ["REST", { step_up: { acr_value: "strong", max_age_seconds: 120, url: "x" } }, { acrValues: "strong", maxAge: 120 }],
  ["a tool call", { step_up: { level: "strong", max_age_s: 300, url: "x" } }, { acrValues: "strong", maxAge: 300 }],
  ["a code alone", { code: "step_up_required" }, { acrValues: "strong", maxAge: 300 }],
  ["a reason alone", { reason: "step_up_required" }, { acrValues: "strong", maxAge: 300 }],
  ["values of wrong types", { step_up: { acr_value: 7, max_age_seconds: "soon" } }, { acrValues: "strong", maxAge: 300 }],
  ["a value that is no name", { step_up: { acr_value: "a&b=c", max_age_seconds: -1 } }, { acrValues: "strong", maxAge: 300 }],
] as const)
  test(`a step-up is read from ${name}`, () => assert.deepEqual(readStepUp(members), expected));

test("the challenge counts where the body says nothing", () => {
  assert.deepEqual(readStepUp(undefined, CHALLENGE), { acrValues: "phishing_resistant", maxAge: 60 });
  assert.equal(readStepUp({ code: "access_denied" }, "Bearer"), undefined);
  assert.equal(readStepUp(undefined), undefined);
});

test("the way to the sign-in leads back, with every character of the path kept", () => {
  assert.equal(signInPath("/why?agent=a&b=%2F"), "/auth/login?return_to=%2Fwhy%3Fagent%3Da%26b%3D%252F");
  assert.equal(signInPath("/", { acrValues: "strong", maxAge: 0 }), "/auth/login?return_to=%2F&acr_values=strong&max_age=0");
});
