import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import canonicalize from "canonicalize";
import type { Facts } from "#contract/facts.ts";
import type { Sealer } from "#authn/sealing/seal.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import { emptyContextOf, rowsInTurns, rowsOf, type CallRows, type RowParts } from "./call-rows.ts";
import { usesUpApproval, type CallDraft } from "./record.ts";

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

/** What the audit log proves of a row: all but the names, by which it is only found. */
const proven = ({ subject_name: _subject, agent_name: _agent, ...call }: CallRows["calls"][number]) => call;

/** All that is stored and proven of a call, as the database holds it: in jsonb the order of members is nobody's. */
const stored = (rows: CallRows): string =>
  canonicalize({
    calls: rows.calls.map((call) => ({
      ...proven(call),
      graph_version: String(call.graph_version),
      items: JSON.parse(call.items) as unknown,
    })),
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
  assert.equal(sha256(stored(rows)), "b166c1af673c780d3aea109b840f154d874920217fec23ba259726179740a51a");
  const secret = draft([verdict({ resource: { type: "secret", id: "yaml://secret/people/demo" }, action: "read" })]);
  assert.equal(sha256(stored(rowsOf(secret, parts))), "3536adcff7636d00bf8ceea5ece6615e9daca44e0bdddca95863b9381b228a04");
});

test("the digest of a record is that of the canonical text of what is stored, whatever stands in it", () => {
  for (const one of [draft([verdict()]), draft([verdict()], { graphVersion: undefined, pep: 'a"\\\u0001' }), many]) {
    const rows = rowsOf(one, parts);
    const texts = rows.calls.map((call) =>
      canonicalize({ ...proven(call), graph_version: one.graphVersion ?? null, items: JSON.parse(call.items) as unknown }),
    );
    assert.deepEqual(
      digestsOf(rows),
      texts.map((text) => sha256(text ?? "")),
    );
  }
});

test("a row says what its subject and its agent were called, where the graph said so", () => {
  const agent: Facts["agent"] = {
    ...(facts.subject as NonNullable<Facts["subject"]>),
    id: "agent:hr",
    name: "HR",
    controllers: [],
    client_id: null,
  };
  const rows = rowsOf(
    draft([verdict({}, { facts: undefined }), verdict(), verdict({ agents: ["agent:hr"] }, { facts: { ...facts, agent } })]),
    parts,
  );
  assert.deepEqual(
    rows.calls.map((call) => [call.subject_name, call.agent_name]),
    [
      ["Bën 😀", null],
      ["Bën 😀", "HR"],
    ],
  );
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

test("what items of a call share is put into its canonical form once, and each digest is that of the item's own context", () => {
  let walks = 0;
  const large = (name: string) =>
    new Proxy({ [name]: 1, "10": 2, "9": 3 }, { ownKeys: (target) => ((walks += 1), Reflect.ownKeys(target)) });
  const shared = { ui: large("ui"), said: { subject: large("subject"), action: {} } };
  rowsOf(draft([verdict(shared)]), parts);
  const alone = walks;
  const same = verdict({ ...shared, said: { ...shared.said } });
  const others = Array.from({ length: 20 }, (_, at) => verdict({ ...shared, said: { ...shared.said }, props: { at } }));
  const rows = rowsOf(draft([same, same, ...others]), parts);
  assert.ok(walks - alone <= 2 * alone, `${walks - alone} walks, ${alone} of one item`);
  const plain = { ui: { ...shared.ui }, said: { subject: { ...shared.said.subject }, action: {} } };
  const apart = [verdict(plain), verdict(plain), ...others.map((_, at) => verdict({ ...plain, props: { at } }))];
  assert.deepEqual(
    contextsOf(rows),
    apart.map((one) => contextsOf(rowsOf(draft([one]), parts))[0]),
  );
});

test("what is asked to draw a page is stored, and is no refusal, no event, no notice and no use of an approval", () => {
  const notify = { id: "notify", type: "notification", properties: { audience: "subject", template: "decision" } };
  const denied = verdict({ action: "edit" }, { decision: false, reason: "not_granted", policies: [], obligations: [notify] });
  const permitted = verdict({ action: "edit" }, { approval: { id: "approval:1", singleUse: true } });
  const made = (showing: boolean, verdicts: readonly Verdict[]) => {
    const of = draft(verdicts);
    const items = of.items.map((item) => ({ ...item, showing }));
    const rows = rowsOf({ ...of, items }, { ...parts, events: "acts" });
    return {
      takes: rows.takes.length,
      events: rows.events.map(({ type }) => type),
      entries: rows.entries,
      usesUp: usesUpApproval({ ...of, items }),
    };
  };
  const [tried, shown] = [made(false, [denied, permitted]), made(true, [denied, permitted])];
  assert.deepEqual(
    [tried.takes, tried.usesUp, tried.events.toSorted()],
    [1, true, ["authz.decision", "authz.decision", "decision.notice"]],
  );
  assert.deepEqual([shown.takes, shown.usesUp, shown.events], [0, false, []]);
  assert.deepEqual(
    [tried, shown].map(({ entries }) => entries.map(({ outcome, code }) => [outcome, code])),
    [[["denied", "not_granted"]], [["ok", undefined]]],
  );
  const data = shown.entries[0]?.data as { result: boolean; items: { result: boolean; showing?: true }[] };
  assert.equal(data.result, false);
  assert.ok(data.items.every((item) => item.showing === true));
});
