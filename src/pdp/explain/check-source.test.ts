import assert from "node:assert/strict";
import { test } from "node:test";
import type { Policy } from "#pdp/bundle/policies.ts";
import { sourceOf } from "./check-source.ts";

const policy = (id: string, line: number, text: string, reads: readonly string[], obligations: readonly string[] = []): Policy =>
  ({ id, file: `policies/${id}.cedar`, line, text, obligations, reads: { context: new Set(reads) } }) as unknown as Policy;

const commented = `@id("a") // context.mfa
permit (principal, action, resource == Page::"context.mfa")
// context.mfa
when { context
  . mfa };`;

test("a check is of the line whose code reads it, not of a comment or a text that says the same", () => {
  const a = policy("a", 10, commented, ["mfa"]);
  assert.deepEqual(sourceOf({ name: "step-up", outcome: "fail" }, [], [a]), { file: "policies/a.cedar", line: 13 });
});

test("what decided goes first; what was not looked at, and what no policy asks for, has no place", () => {
  const [a, b] = [policy("a", 1, "when { context.mfa }", ["mfa"]), policy("b", 5, "when { context.mfa }", ["mfa"])];
  assert.equal(sourceOf({ name: "step-up", outcome: "pass" }, [b], [a, b])?.file, "policies/b.cedar");
  assert.equal(sourceOf({ name: "policy", outcome: "fail" }, [b, a], [a, b])?.line, 5);
  assert.equal(sourceOf({ name: "policy", outcome: "fail" }, [], [a, b]), undefined);
  assert.equal(sourceOf({ name: "step-up", outcome: "skipped" }, [b], [a]), undefined);
  assert.equal(sourceOf({ name: "chain", outcome: "fail" }, [b], [a]), undefined);
  assert.equal(sourceOf({ name: "subject", outcome: "fail" }, [b], [a]), undefined);
  const scoped = policy("c", 7, '@id("c")\n@obligation("data-scope,mfa")\npermit', [], ["data-scope"]);
  assert.deepEqual(sourceOf({ name: "data-scope", outcome: "pass" }, [a, scoped], []), { file: "policies/c.cedar", line: 8 });
  assert.equal(sourceOf({ name: "data-scope", outcome: "pass" }, [a], [scoped]), undefined);
});
