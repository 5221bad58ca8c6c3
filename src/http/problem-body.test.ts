import assert from "node:assert/strict";
import { test } from "node:test";
import { readProblem } from "#contract/ask.ts";
import { Problem, standardMembers } from "#contract/problem.ts";
import { problemBody, problemResponse } from "./problem-body.ts";

for (const name of standardMembers)
  test(`a member ${name} of a problem's own takes no standard member's place`, () => {
    const plain = problemBody(new Problem("conflict"), "c1");
    const members = { [name]: "mine", own: 1 };
    assert.deepEqual(problemBody(new Problem("conflict", { members }), "c1"), { ...plain, own: 1 });
  });

test("a type of a profile stands in the place of ours, and comes through a peer", async () => {
  const problem = new Problem("conflict", { type: "urn:x:1", detail: "Why.", errors: [{ path: "/a", message: "is wrong" }] });
  assert.deepEqual(problemBody(problem, "c1"), {
    type: "urn:x:1",
    title: "It clashes with what is there",
    status: 409,
    detail: "Why.",
    code: "conflict",
    correlation_id: "c1",
    errors: [{ path: "/a", message: "is wrong" }],
  });
  assert.equal((await readProblem(problemResponse(problem, "c1"))).options.type, "urn:x:1");
  assert.equal((await readProblem(problemResponse(new Problem("conflict"), "c1"))).options.type, undefined);
});
