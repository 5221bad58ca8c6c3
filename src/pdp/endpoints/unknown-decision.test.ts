import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "#contract/problem.ts";
import { pdpWorld } from "#testing/pdp.ts";

const ulid = "01HF7YAT00ZZZZZZZZZZZZZZZZ";
const unknown: readonly (readonly [what: string, id: string])[] = [
  ["2,000 characters", "d".repeat(2000)],
  ["1,025 characters", "x".repeat(1025)],
  ["a NUL", "%00"],
  ["a control character in an id of ours", `d_${ulid}%07`],
  ["a line break", `d_${ulid}%0A`],
  ["no ULID", "d_1"],
  ["small letters", `d_${ulid}`.toLowerCase()],
  ["an index with a leading zero", `d_${ulid}.01`],
  ["a broken escape", "%ZZ"],
];

test("what is no id of a decision is an unknown decision, without anybody being asked", async (t) => {
  const nobody = async (): Promise<never> => {
    throw new Problem("membership_unavailable");
  };
  const world = await pdpWorld(t, { parts: { facts: { gather: nobody, gatherIf: nobody, ready: async () => true } } });
  const tokens = [
    await world.personToken("ada"),
    await world.serviceToken(),
    await world.identity.tokenFor({ sub: "service:auditor", tenant: "tenant:acme", scopes: ["pdp.decisions.read"] }),
  ];
  const bodies = new Set<string>();
  for (const [what, id] of unknown)
    for (const [path, body] of [
      [`/access/v1/decisions/${id}`, undefined],
      [`/access/v1/decisions/${id}?remedy=true`, undefined],
      [`/access/v1/decisions/${id}/replay`, {}],
    ] as const)
      for (const token of tokens) {
        const response = await world.ask(path, token, body, { "x-correlation-id": "same" });
        assert.equal(response.status, 404, `${what}: ${path}`);
        bodies.add(await response.text());
      }
  const well = await world.ask(`/access/v1/decisions/d_${ulid}`, await world.serviceToken(), undefined, { "x-correlation-id": "same" });
  assert.equal(well.status, 404);
  bodies.add(await well.text());
  assert.equal(bodies.size, 1, "one body, whatever is unknown");
  assert.equal((await world.ask("/access/v1/decisions/%00", undefined)).status, 401);
});
