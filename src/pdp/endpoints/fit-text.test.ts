import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProblemBody } from "#contract/problem.ts";
import { sharedPdpWorld } from "#testing/pdp.ts";

const shared = sharedPdpWorld();
const policies = "/access/v1/policies";

const paths: readonly string[] = [
  `${policies}/replay/%00`,
  `${policies}/replay/a%00b`,
  `${policies}/%00`,
  `${policies}/rollouts/%00`,
  "/access/v1/requests/%00",
  "/access/v1/decisions/%00",
];
const queries: readonly string[] = [
  ...["subject", "agent", "action", "reason", "resource_type", "correlation_id", "cursor"].map(
    (name) => `/access/v1/decisions?${name}=a%00`,
  ),
  `${policies}/rollouts?cursor=%00`,
  "/access/v1/requests?as=approver&cursor=%00",
];
const bodies: readonly (readonly [path: string, body: string, at: string])[] = ["\\u0000", "\\ud800", "\\udc00x"].flatMap(
  (unfit): (readonly [string, string, string])[] => [
    [`${policies}/rollouts`, `{"files":{"policies/more.cedar":"// ${unfit}"},"message":"Try"}`, "/files/policies~1more.cedar"],
    [`${policies}/rollouts`, `{"files":{},"message":"${unfit}"}`, "/message"],
    [`${policies}/validate`, `{"files":{"policies/more.cedar":"${unfit}"}}`, "/files/policies~1more.cedar"],
    [`${policies}/test`, `{"cases":[{"name":"one","given":{"${unfit}":1}}]}`, "/cases/0/given"],
    [`${policies}/test`, `{"cases":[{"name":"${unfit}"}]}`, "/cases/0/name"],
    [`${policies}/replay`, `{"version":"v1","filter":{"subject":"${unfit}"}}`, "/filter/subject"],
    [`${policies}/rollouts/last/rollback`, `{"message":"${unfit}"}`, "/message"],
  ],
);

test("text that no database keeps is unknown in a path and bad input in a query or a body, never a failure", async () => {
  const world = await shared();
  const ada = await world.personToken("ada", { acr: "strong" });
  for (const path of paths) {
    const response = await world.ask(path, ada);
    assert.deepEqual([response.status, ((await response.json()) as ProblemBody).code], [404, "not_found"], path);
  }
  for (const path of queries) {
    const response = await world.ask(path, ada);
    const { code } = (await response.json()) as ProblemBody;
    assert.equal(response.status, 400, path);
    assert.ok(code === "invalid_query" || (path.includes("cursor") && code === "invalid_cursor"), `${path} ${code}`);
  }
  for (const [path, body, at] of bodies) {
    const response = await world.ask(path, ada, body);
    const { code, errors } = (await response.json()) as ProblemBody;
    assert.deepEqual([response.status, code], [400, "invalid_request"], `${path} ${body}`);
    if (body.includes("\\u0000")) assert.equal(errors?.[0]?.path, at, `${path} ${body}`);
  }
  const fine = await world.ask(`${policies}/validate`, ada, { files: { "policies/more.cedar": "// a smile: \u{1f600}" } });
  assert.equal(fine.status, 200);
});
