import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  cedarGeneration,
  policySetTextToParts,
  policyToJson,
  preparsePolicySet,
  preparseSchema,
  statefulIsAuthorized,
  validate,
} from "#pdp/model/cedar-program.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { inspectBundle } from "./bundle.ts";
import { findTooDeep, MAX_BRACKETS, MAX_DEPTH } from "./depth.ts";
import { readPolicyFolder } from "./policy-files.ts";

const files = await readPolicyFolder(policyFolder);
const policy = (condition: string): string =>
  `@id("deep") @description("x") permit (principal, action == Action::"pages:view", resource) when { ${condition} };`;
const row = (one: string, by: string, count: number): string => Array(count).fill(one).join(by);

/** Ways to be deep, of any depth. */
const ways: Readonly<Record<string, (deep: number) => string>> = {
  and: (deep) => policy(row("context.via_agent", " && ", deep)),
  or: (deep) => policy(row("principal == resource.owner", " || ", deep)),
  sums: (deep) => policy(`${row("1", " + ", deep)} > 0`),
  products: (deep) => policy(`${row("1", " * ", deep)} > 0`),
  whens: (deep) => policy("true").replace(";", ` ${row("when { context.via_agent }", " ", deep)};`),
  members: (deep) => policy(`context${".a".repeat(deep)}`),
  indexes: (deep) => policy(`context${'["a"]'.repeat(deep)}`),
  calls: (deep) => policy(`context${".contains(1)".repeat(deep)}`),
  ifs: (deep) => policy(`${"if context.via_agent then true else ".repeat(deep)} false`),
  brackets: (deep) => policy(`${"(".repeat(deep)}context.via_agent${")".repeat(deep)}`),
  negations: (deep) => policy(`${"!(".repeat(deep)}context.via_agent${")".repeat(deep)}`),
  sets: (deep) => policy(`${"[".repeat(deep)}1${"]".repeat(deep)} == [1]`),
  records: (deep) => policy(`${'{"a":'.repeat(deep)}1${"}".repeat(deep)} == {}`),
  "ands in brackets": (deep) => policy(`${"(context.via_agent && ".repeat(deep)}true${")".repeat(deep)}`),
  "brackets left open": (deep) => policy("(".repeat(deep)),
  functions: (deep) => policy(`${"ip(".repeat(deep)}"1"${")".repeat(deep)} == ip("1")`),
};

const schema = files["schema.cedarschema"] ?? "";
preparseSchema("deep", schema);

/** From the parser to a decision, past what validation would refuse. Throws where Cedar breaks down. */
const goThrough = (text: string): void => {
  policySetTextToParts(text);
  policyToJson(text);
  const set = { staticPolicies: { deep: text } };
  validate({ schema, policies: set, validationSettings: { mode: "strict" } });
  if (preparsePolicySet("deep", set).type !== "success") return;
  statefulIsAuthorized({
    principal: { type: "Person", id: "a" },
    action: { type: "Action", id: "pages:view" },
    resource: { type: "Page", id: "a" },
    context: { via_agent: true },
    entities: [],
    preparsedSchemaName: "deep",
    validateRequest: false,
    preparsedPolicySetId: "deep",
  });
};

for (const [name, of] of Object.entries(ways))
  test(`what is deep by ${name} is refused before Cedar breaks down`, () => {
    const before = cedarGeneration();
    // The deepest that passes: Cedar takes it.
    let max = 0;
    for (let step = 512; step >= 1; step /= 2) if (findTooDeep(of(max + step), "policies") === undefined) max += step;
    assert.ok(max >= MAX_BRACKETS / 4 && max <= MAX_DEPTH, `${max} levels`);
    goThrough(of(max));
    for (const deep of [max + 1, 400, 3_000]) {
      const [issue, ...others] = inspectBundle({ ...files, "deep.cedar": of(deep) }).findings.errors;
      assert.match(issue?.message ?? "", /^there are more than 32 brackets|^an expression is more than 150 deep/);
      assert.deepEqual([issue?.file, issue?.line, others], ["policies/deep.cedar", 1, []]);
    }
    assert.equal(cedarGeneration(), before);
  });

test("Sallyport's own policies are far from the limits, and rows, texts and comments are not deep", () => {
  for (const [file, text] of Object.entries(files)) {
    if (!file.endsWith(".cedar")) continue;
    // Sixteen times over, each still its own policy.
    assert.equal(findTooDeep(text.repeat(16), "policies"), undefined, file);
  }
  const flat = [
    policy(`resource in [${row('Page::"a"', ", ", 3_000)}]`),
    policy(`"${"((((".repeat(100)}" == "\\"${"&& ".repeat(500)}"`),
    `// ${"(((( && ".repeat(500)}\n${policy("true")}`,
    row(policy(row("context.via_agent", " && ", 100)), "\n", 50),
  ];
  for (const text of flat) {
    assert.equal(findTooDeep(text, "policies"), undefined, text.slice(0, 80));
    assert.equal(policySetTextToParts(text).type, "success", text.slice(0, 80));
  }
});

test("a schema of types within types is refused with its place", () => {
  const before = cedarGeneration();
  for (const type of [`${"{a: ".repeat(2_000)}Long${"}".repeat(2_000)}`, `${"Set<".repeat(2_000)}Long${">".repeat(2_000)}`]) {
    const { findings, bundle } = inspectBundle({ ...files, "schema.cedarschema": `entity Deep {\n  a: ${type}\n};` });
    assert.equal(bundle, undefined);
    assert.match(findings.errors[0]?.message ?? "", /more than 32 brackets/);
    assert.deepEqual([findings.errors[0]?.file, findings.errors[0]?.line], ["policies/schema.cedarschema", 2]);
  }
  assert.equal(cedarGeneration(), before);
});

/** Each takes an expression one deeper, on one side or the other. */
const wraps: readonly ((inner: string) => string)[] = [
  ...["&&", "||", "==", "+", "*", "<", "in"].flatMap((operator) => [
    (inner: string) => `${inner} ${operator} context.via_agent`,
    (inner: string) => `context.via_agent ${operator} (${inner})`,
  ]),
  (inner) => `(${inner})`,
  (inner) => `!(${inner})`,
  (inner) => `[1, ${inner}].contains(1)`,
  (inner) => `{"a": ${inner}}["a"].a.b`,
  (inner) => `context.contains(${inner})`,
  (inner) => `if ${inner} then true else 1`,
  (inner) => `if true then ${inner} else 1`,
  (inner) => `if true then 1 else ${inner}`,
];

test("no expression that passes breaks Cedar down, however it is made", () => {
  const before = cedarGeneration();
  let passed = 0;
  // Grown until it is refused: the last that passed is as deep as one of its kind can be.
  const grown = fc.array(fc.constantFrom(...wraps), { minLength: MAX_DEPTH, maxLength: MAX_DEPTH * 2, size: "max" });
  fc.assert(
    fc.property(grown, (steps) => {
      let condition = "true";
      for (const wrap of steps) {
        const next = wrap(condition);
        if (findTooDeep(policy(next), "policies") === undefined) condition = next;
      }
      passed += condition.length > 300 ? 1 : 0;
      goThrough(policy(condition));
    }),
    { numRuns: 100 },
  );
  assert.ok(passed > 90, `${passed} were deep`);
  assert.equal(cedarGeneration(), before);
});
