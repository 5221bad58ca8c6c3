import assert from "node:assert/strict";
import { test } from "node:test";
import { readProblem } from "#contract/ask.ts";
import { problemDetails } from "#contract/problem-details.ts";
import { Problem, problemCodes, standardMembers, type ProblemCode } from "#contract/problem.ts";
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

test("every problem says what helps, in sentences of its own beside the title; what is known of this one comes first", () => {
  for (const code of Object.keys(problemCodes) as ProblemCode[]) {
    const { detail = "", title } = problemBody(new Problem(code), "c1");
    assert.match(detail, /^[A-Z].{10,300}[^.]\.$/, code);
    assert.notEqual(detail.replace(/\.$/, ""), title, code);
    assert.equal(problemBody(new Problem(code, { detail: "This one." }), "c1").detail, "This one.");
  }
  assert.deepEqual(Object.keys(problemDetails).toSorted(), Object.keys(problemCodes).toSorted());
});
