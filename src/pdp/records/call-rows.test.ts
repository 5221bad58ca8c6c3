import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import canonicalize from "canonicalize";
import type { Facts } from "#contract/facts.ts";
import type { Sealer } from "#authn/seal.ts";
import type { Ask, Verdict } from "#pdp/decision-point.ts";
import { emptyContextOf, rowsInTurns, rowsOf, type CallRows, type RowParts } from "./call-rows.ts";
import type { CallDraft } from "./record.ts";

/** Stands in for encryption, whose bytes are new each time. */
const sealer: Sealer = {
  seal: (plain, associated) => Buffer.from(createHash("sha256").update(`${associated}|${plain}`).digest("hex")),
  open: () => undefined,
};
const parts: RowParts = {
  sealer,
  digestKey: Buffer.alloc(32, 3),
  resourceRef: (tenant, { scheme, mount, segments, key }) => `hr1.${[tenant, scheme, mount, ...segments, key ?? "-"].join(".")}`,
  events: "all",
};

const facts: Facts = {
  subject: {
    id: "person:ben",
    kind: "Person",
    name: "Bën 😀",
    tenant_ids: ["tenant:acme"],
    groups: ["group:people-ops"],
    disabled: false,
    mfa_level: null,
    attributes: { "10": 1, "9": -0, z: 1e21, a: undefined },
  },
  agent: null,
  capability: false,
  chain: true,
  definition_ok: true,
  delegation: null,
  resource: {
    node_id: "page:people",
    kind: "Page",
    name: "people",
    tenant_ids: ["tenant:acme"],
    owners: ["person:cleo"],
    granted: true,
    attributes: { state: "active" },
  },
  edges: [{ kind: "MEMBER_OF", from: "person:ben", to: "group:people-ops", present: true }],
};

const ask = (more: Partial<Ask> = {}): Ask => ({
  pep: "service:gateway",
  bound: "*",
  subject: { type: "identity", id: "person:ben", tenant: "tenant:acme" },
  agents: [],
  action: "view",
  resource: { type: "pages", id: "people" },
  assurance: {},
  vouched: { could: false, toolsScope: false, assigned: false, costMicro: 0, approval: false },
  props: {},
  claimed: {},
  ui: {},
  supported: "all",
  ...more,
});

const verdict = (asked: Partial<Ask> = {}, more: Partial<Verdict> = {}): Verdict => ({
  ask: ask(asked),
  decision: true,
  obligations: [],
  policies: ["pages-granted"],
  errors: [],
  requestable: false,
  tenant: "tenant:acme",
  facts,
  inputs: { mfa: false, approved: false, could: false, tools_scope: false, assigned: false, cost_micro: 0 },
  ...more,
});

const draft = (verdicts: readonly Verdict[], more: Partial<CallDraft> = {}): CallDraft => ({
  callId: "d_01JD0000000000000000000000",
  batch: verdicts.length > 1,
  decidedAt: new Date("2026-11-21T04:05:06.789Z"),
  pep: "service:gateway",
  fallbackTenant: "*",
  policyVersion: "v-7",
  graphVersion: 42,
  latencyUs: 1234,
  correlationId: "corr-1",
  items: verdicts.map((one, index) => ({ index, verdict: one, ...(index === 1 ? { showing: true } : {}) })),
  ...more,
});

const template: NonNullable<Verdict["request"]>["template"] = { expires: 60 } as never;
const many = draft(
  [
    verdict(),
    verdict(
      { action: "update_salary", props: { note: "é\u2028😀", "10": 1, "9": 2 }, claimed: { salary: 1e21 } },
      {
        decision: false,
        reason: "approval_required",
        requestable: true,
        errors: ["broken"],
        obligations: [{ id: "notify", type: "notification", properties: { audience: "resource_owner", template: "t" } }],
        request: { name: "salary", template, binding: { z: "1", a: "2" } as never },
      },
    ),
    verdict(
      { resource: { type: "secret", id: "yaml://secret/people/demo#canary%20key" }, action: "rotate", agents: ["agent:hr", "agent:x"] },
      {
        cached: true,
        approval: { id: "approval:1", singleUse: true },
      },
    ),
    verdict(
      { subject: { type: "identity", id: "person:dan" }, said: { subject: { "cerbos.roles": ["g1"] }, action: {} } },
      {
        tenant: undefined,
        decision: false,
        reason: "subject_unresolved",
        facts: undefined,
      },
    ),
  ],
  { graphVersion: undefined, requestId: 'req-"1"' },
);

/** All that is stored of a call, as the database holds it: in jsonb the order of members is nobody's. */
const stored = (rows: CallRows): string =>
  canonicalize({
    calls: rows.calls.map((call) => ({ ...call, graph_version: String(call.graph_version), items: JSON.parse(call.items) as unknown })),
    facts: [...rows.facts].map(([digest, kept]) => [
      digest,
      "text" in kept ? { facts: JSON.parse(kept.text) as unknown } : { sealed: Buffer.from(kept.sealed).toString("utf8") },
    ]),
    entries: rows.entries,
    events: rows.events,
    takes: rows.takes,
  }) ?? "";
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const digestsOf = (rows: CallRows) => rows.entries.map((entry) => entry.data["record_digest"]);
const contextsOf = (rows: CallRows) =>
  rows.calls.flatMap((call) => (JSON.parse(call.items) as readonly { readonly context: string }[]).map((item) => item.context));

test("the digests of a single call are exactly these: records of years ago must still answer to them", () => {
  const rows = rowsOf(draft([verdict()]), parts);
  assert.deepEqual(digestsOf(rows), ["a5a834753b92d7b82f5e75063bb49291f6887ce2ad0e93e9a2fe1427c8cfef0f"]);
  assert.deepEqual([...rows.facts.keys()], ["F2-9dWuAWJyM9vdMHhQd_zrYj1qYn7ml"]);
  assert.deepEqual(contextsOf(rows), ["J0fpSkIiqZt46M3BxGbyQWpsz7UZipZe"]);
  assert.equal(emptyContextOf(parts), "J0fpSkIiqZt46M3BxGbyQWpsz7UZipZe");
});

test("a batch over subjects, tenants and a secret is stored exactly so", () => {
  const rows = rowsOf(many, parts);
  assert.deepEqual(digestsOf(rows), [
    "45c41f3f9be474812f4f09cf35d174fb22a5a023fe8558813284e81a0b2f83ac",
    "e4bcf9f2e07749b33739dc638e285ef839af8ea24cd7a701c1556577a40630a8",
    "4a6d23f77737f9cee3eb3f033be09115f78e64cc79f2cc7a661c826ad7575476",
  ]);
  assert.deepEqual(contextsOf(rows), [
    "J0fpSkIiqZt46M3BxGbyQWpsz7UZipZe",
    "AQEv7obcmOvJTkr8IT3EzdpmRSwWGEx4",
    "J0fpSkIiqZt46M3BxGbyQWpsz7UZipZe",
    "VmXOme6JjjjWGSYoRjX7rtjghfeaeu3F",
  ]);
  assert.equal(sha256(stored(rows)), "6e847f43cf0d37e092e83f29adafcf0218f85615acb0d7bbe62e7f51beea44f1");
  const secret = draft([verdict({ resource: { type: "secret", id: "yaml://secret/people/demo" }, action: "read" })]);
  assert.equal(sha256(stored(rowsOf(secret, parts))), "cbb011cb91264cefb3a99878a5c77943238ed0824fb5e838853f5adf0114145b");
});

test("the digest of a record is that of the canonical text of what is stored, whatever stands in it", () => {
  for (const one of [draft([verdict()]), draft([verdict()], { graphVersion: undefined, pep: 'a"\\\u0001' }), many]) {
    const rows = rowsOf(one, parts);
    const texts = rows.calls.map((call) =>
      canonicalize({ ...call, graph_version: one.graphVersion ?? null, items: JSON.parse(call.items) as unknown }),
    );
    assert.deepEqual(
      digestsOf(rows),
      texts.map((text) => sha256(text ?? "")),
    );
  }
});

test("another key gives other digests, also of nothing", () => {
  const other = { ...parts, digestKey: Buffer.alloc(32, 4) };
  assert.notEqual(emptyContextOf(other), emptyContextOf(parts));
  assert.deepEqual(contextsOf(rowsOf(draft([verdict()]), other)), [emptyContextOf(other)]);
  assert.notDeepEqual([...rowsOf(draft([verdict()]), other).facts.keys()], [...rowsOf(draft([verdict()]), parts).facts.keys()]);
});

test("a large call is made in turns, and is the same then", async () => {
  const large = draft(Array.from({ length: 40 }, (_, at) => verdict({ resource: { type: "pages", id: `p${at % 7}` }, props: { at } })));
  let asked = 0;
  const rows = await rowsInTurns(large, parts, () =>
    ++asked % 3 === 0 ? new Promise((resolve) => void setImmediate(resolve)) : undefined,
  );
  assert.equal(asked, 39, "between them");
  assert.equal(stored(rows), stored(rowsOf(large, parts)));
  assert.equal(new Set(contextsOf(rows)).size, 40);
});
