import assert from "node:assert/strict";
import test from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import type { EntryDraft } from "./entry.ts";
import { leafOf, subjectsOf, type LeafParts } from "./leaf.ts";
import type { Reference } from "./references.ts";

const reference = (letter: string): Reference => ({ ref: `sr1.${letter.repeat(22)}`, wrappedKey: new Uint8Array() });
const refs = new Map([
  ["person:ben", reference("b")],
  ["person:cleo", reference("c")],
]);

const draft: EntryDraft = {
  tenant: "tenant:acme",
  category: "tool_call",
  outcome: "pending",
  actor: {
    subject: "person:ben",
    kind: "person",
    agent_id: "agent:hr-assistant",
    delegation_id: "delegation:ben-hr",
    acr: "strong",
    amr: ["pwd", "otp"],
  },
  via: { service: "crud", view: "people.demo" },
  resource: { type: "tool", id: "people.demo.list_employees" },
  decisionId: "d-1",
  correlationId: "c-1",
  data: { tool: "people.demo.list_employees", reserve: { usd: "0.010000", steps: 1 }, argument_names: ["limit"] },
};

const parts = (more: Partial<EntryDraft> = {}): LeafParts => ({
  entryId: "019a0000-0000-7000-8000-000000000001",
  at: new Date("2026-11-21T04:05:06.789Z"),
  writer: { id: "writer:1", n: 3 },
  phase: "open",
  actId: "call-1",
  draft: { ...draft, ...more },
  refs,
});

test("an entry is exactly these bytes", () => {
  assert.equal(
    leafOf(parts()),
    '{"act_id":"call-1","actor":{"acr":"strong","agent_id":"agent:hr-assistant","amr":["pwd","otp"],"delegation_id":"delegation:ben-hr",' +
      '"delegation_path":["delegation:ben-hr"],"kind":"person","subject_ref":"sr1.bbbbbbbbbbbbbbbbbbbbbb"},"at":"2026-11-21T04:05:06.789Z",' +
      '"category":"tool_call","correlation_id":"c-1","data":{"argument_names":["limit"],"reserve":{"steps":1,"usd":"0.010000"},' +
      '"tool":"people.demo.list_employees"},"decision_id":"d-1","entry_id":"019a0000-0000-7000-8000-000000000001","log":"tenant:acme",' +
      '"outcome":"pending","phase":"open","resource":{"id":"people.demo.list_employees","type":"tool"},"v":1,"via":{"service":"crud","view":"people.demo"},' +
      '"writer":{"id":"writer:1","n":3}}',
  );
});

test("the order in which a module names its members does not matter", () => {
  const turned = Object.fromEntries(Object.entries(draft).toReversed()) as unknown as EntryDraft;
  assert.equal(leafOf(parts(turned)), leafOf(parts()));
});

test("persons appear as references wherever they are named, and everybody named is asked for", () => {
  const named = {
    resource: { type: "identity", id: "person:cleo" },
    data: { before: { controllers: ["person:ben", "person:cleo"] }, note: "person:ben called", account: "person:nobody" },
  };
  assert.deepEqual([...subjectsOf({ ...draft, ...named })].sort(), ["person:ben", "person:cleo", "person:nobody"]);
  const entry = JSON.parse(leafOf(parts(named))) as Record<string, unknown>;
  assert.deepEqual(entry["resource"], { type: "identity", ref: "sr1.cccccccccccccccccccccc" });
  assert.deepEqual((entry["data"] as Record<string, unknown>)["before"], {
    controllers: ["sr1.bbbbbbbbbbbbbbbbbbbbbb", "sr1.cccccccccccccccccccccc"],
  });
});

test("the actor of an entry that continues another keeps its reference", () => {
  const continued = parts({ actor: { subject: reference("z").ref, kind: "person" } });
  assert.deepEqual([...subjectsOf(continued.draft)], []);
  assert.equal((JSON.parse(leafOf(continued)) as { actor: { subject_ref: string } }).actor.subject_ref, reference("z").ref);
});

test("what tenants do not share goes to the log of Sallyport", () => {
  for (const tenant of ["*", ""]) assert.equal((JSON.parse(leafOf(parts({ tenant }))) as { log: string }).log, "internal");
});

test("numbers that are no safe integers, dates and broken text are written without loss or fault", () => {
  const data = {
    float: 0.1,
    big: 2 ** 60,
    money: 12_345n,
    when: new Date(0),
    half: "a\ud800b",
    nul: "a\0b",
    missing: undefined,
    list: [undefined, () => 1],
    none: null,
  };
  const entry = JSON.parse(leafOf(parts({ data }))) as { data: unknown };
  assert.deepEqual(entry.data, {
    float: "0.1",
    big: "1152921504606847000",
    money: "12345",
    when: "1970-01-01T00:00:00.000Z",
    half: "a\ufffdb",
    nul: "a\ufffdb",
    list: [null, null],
    none: null,
  });
});

test("what is nested too deeply to be read is cut, and takes nobody's name along", () => {
  const nested = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : { a: [nested(depth - 1, inner)] });
  const data = { deep: nested(5_000, "person:ben"), flat: nested(5, "person:ben") };
  const text = leafOf(parts({ data }));
  assert.ok(text.includes('"[deep]"') && text.includes("sr1.b") && !text.includes("person:"));
});

test("an entry has at most 16 KiB: too much data is replaced by its size", () => {
  const text = leafOf(parts({ data: { text: "ü".repeat(16_384) } }));
  assert.ok(Buffer.byteLength(text) <= 16_384);
  assert.equal(text, canonicalize(JSON.parse(text)));
  const { data } = JSON.parse(text) as { data: { truncated: boolean; bytes: number } };
  assert.equal(data.truncated, true);
  assert.ok(data.bytes > 32_768);
  assert.throws(() => leafOf(parts({ code: "x".repeat(20_000) })), RangeError);
});

const PERSON = /^(?:person|account):[A-Za-z0-9._:@+~-]{1,200}$/;
/** What a value is in a leaf, step by step; the leaf itself is written in one. */
const plain = (value: unknown, depth: number): unknown => {
  const clean = (text: string) => text.toWellFormed().replaceAll("\0", "\ufffd");
  if (typeof value === "string") return (PERSON.test(value) ? refs.get(value)?.ref : undefined) ?? clean(value);
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : String(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "boolean" || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object") return undefined;
  if (depth > 24) return "[deep]";
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1) ?? null);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const held = plain(item, depth + 1);
      return held === undefined ? [] : [[clean(name), held]];
    }),
  );
};

test("any data are written as they are step by step: cleaned, named by reference, then made canonical", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "person:ben",
      "person:cleo",
      "person:",
      "account:x",
      "person:ben\n",
      "xperson:ben",
      "a\0b",
      "\ud800",
      "__proto__",
      "10",
      "9",
      "",
    ),
  );
  const { value: values } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      texts,
      fc.double(),
      fc.integer(),
      fc.bigInt(),
      fc.date({ noInvalidDate: true }),
      fc.constantFrom(null, undefined, true, -0, () => 1),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(texts, tie("value"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(values, (value) => {
      const text = leafOf(parts({ data: { value } }));
      if (text.includes('"truncated":true')) return;
      const data = canonicalize(plain({ value }, 1)) ?? "";
      assert.ok(text.includes(`"data":${data},"decision_id"`), `${text}\n${data}`);
      const named = subjectsOf({ ...draft, data: { value } });
      assert.deepEqual(
        [...named].filter((subject) => refs.has(subject) && subject !== "person:ben"),
        data.includes(reference("c").ref) ? ["person:cleo"] : [],
      );
    }),
    { numRuns: 2_000 },
  );
});

test("names that become equal once they are cleaned, and a date that is none, do no harm", () => {
  const entry = JSON.parse(leafOf(parts({ data: { "a\0": 1, "a\ufffd": 2, "\ud800": { when: new Date(Number.NaN) }, b: 3 } }))) as {
    data: unknown;
  };
  assert.deepEqual(entry.data, { "a\ufffd": 2, "\ufffd": { when: null }, b: 3 });
});
