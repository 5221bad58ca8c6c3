import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readSchema } from "#pdp/bundle/schema.ts";
import { ConfigurationRefused } from "#pdp/model/configuration-file.ts";
import { readFactsFile } from "./facts-file.ts";
import { vocabularyOf } from "#pdp/engine/vocabulary.ts";

const text = `entity Group;
entity User in [Group] { email?: String };
entity Record { department: String, owner: User };
entity Todo;
entity Collection;
action "record:view", "record:edit" appliesTo { principal: [User], resource: [Record], context: {} };
action "todo:read" appliesTo { principal: [User], resource: [Todo], context: {} };
action "todos:list" appliesTo { principal: [User], resource: [Collection], context: {} };`;
const schema = readSchema(text, []);
assert.ok(schema);

const alice = "subjects: [{ id: alice, types: [user], kind: User, groups: [manager] }]";
const record = "{ type: record, id: r1, attributes: { department: Sales, owner: alice } }";
const whole = (subjects = alice, resources = `resources: [${record}]`): string => `tenant: tenant:x\n${subjects}\n${resources}\n`;

const refused: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  ["no tenant", `${alice}\nresources: []`, /tenant/],
  ["a tenant of another form", `tenant: x\n${alice}\nresources: []`, /tenant:name/],
  ["an unknown member", `${whole()}more: 1`, /more/i],
  ["a subject without type", whole("subjects: [{ id: a, types: [], kind: User }]"), /types/],
  ["a kind that the schema has not", whole("subjects: [{ id: a, types: [user], kind: Robot }]"), /no entity type Robot/],
  ["a subject twice", whole(`subjects: [${Array(2).fill("{ id: a, types: [user], kind: User }").join(",")}]`), /twice/],
  ["a resource twice", whole(alice, `resources: [${record}, ${record}]`), /twice/],
  ["a resource type that the schema has not", whole(alice, "resources: [{ type: page, id: p }]"), /no action of the type page/],
  [
    "a resource that lacks an attribute",
    whole(alice, "resources: [{ type: record, id: r, attributes: { owner: a } }]"),
    /lacks the attribute department/,
  ],
  ["an alias", `tenant: tenant:x\nsubjects: &a []\nresources: *a`, /alias/],
  ["nested too deeply", `tenant: ${"[".repeat(50)}${"]".repeat(50)}`, /nested deeper/],
];
test("a file of facts with a fault is refused, with its name", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "facts-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "facts.yaml");
  for (const [what, content, says] of refused) {
    await writeFile(file, content);
    await assert.rejects(
      readFactsFile(file, schema),
      (error: unknown) => error instanceof ConfigurationRefused && says.test(error.message),
      what,
    );
  }
  await assert.rejects(readFactsFile(join(folder, "absent.yaml"), schema), /cannot be read/);
});

test("subjects are known by the types they may be named by, and nobody delegates", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "facts-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "facts.yaml");
  await writeFile(file, whole("subjects: [{ id: alice, types: [user, identity], kind: User }, { id: bob, types: [user], kind: User }]"));
  const { facts, candidates } = await readFactsFile(file, schema);
  const ask = (subject_type: string | undefined, id: string) => ({
    subject_id: id,
    ...(subject_type === undefined ? {} : { subject_type }),
    agent_ids: ["agent:x"],
    action: "view",
    resource: { type: "record", external_id: "r1" },
  });
  const { facts: found } = await facts.gather([ask("user", "alice"), ask(undefined, "alice"), ask(undefined, "bob"), ask("user", "carol")]);
  assert.deepEqual(
    found.map((one) => one.subject?.id ?? null),
    ["alice", "alice", null, null],
  );
  assert.deepEqual([found[0]?.agent, found[0]?.delegation, found[0]?.resource?.attributes["department"]], [null, null, "Sales"]);
  const list = (type: string, more: object = {}) => candidates.list({ of: "subject", type, action: "view", limit: 10, ...more });
  assert.deepEqual([await list("user"), await list("identity"), await list("robot")], [["alice", "bob"], ["alice"], []]);
  assert.deepEqual([await list("user", { after: "alice" }), await list("user", { limit: 1 })], [["bob"], ["alice"]]);
  assert.deepEqual(await list("user", { tenant_id: "tenant:other" }), []);
});

test("a schema of one's own says its words: what must be known, what need not, what is a whole collection", () => {
  const words = vocabularyOf(schema);
  assert.deepEqual(
    [
      words.pairOf("record", "view")?.of,
      words.pairOf("todo", "read")?.of,
      words.pairOf("todos", "list")?.of,
      words.pairOf("record", "fly"),
    ],
    ["node", "named", "all", undefined],
  );
  assert.deepEqual(
    words.pairsOf("record").map(({ action }) => action),
    ["edit", "view"],
  );
});
