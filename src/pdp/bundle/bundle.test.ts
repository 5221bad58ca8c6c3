import assert from "node:assert/strict";
import { test } from "node:test";
import { pairs } from "#pdp-client/pairs.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { BundleRefused } from "./bundle-refused.ts";
import { digestOf, inspectBundle, readBundle } from "./bundle.ts";
import type { Finding } from "./findings.ts";
import { readPolicyFolder, type PolicyFiles } from "./policy-files.ts";

const files = await readPolicyFolder(policyFolder);

const issuesOf = (more: Readonly<Record<string, string>>, of: PolicyFiles = files): readonly string[] => {
  try {
    readBundle({ ...of, ...more });
    return [];
  } catch (error) {
    assert.ok(error instanceof BundleRefused);
    assert.equal(error.exitCode, 78);
    return error.issues.map((issue) => `${issue.file ?? ""}:${issue.line ?? ""}:${issue.column ?? ""} ${issue.message}`);
  }
};
const head = '@id("extra") @description("x") ';
const scope = 'principal, action == Action::"pages:view", resource';

test("Sallyport's policies are valid, and the schema's actions are exactly the pairs", () => {
  const bundle = readBundle(files);
  assert.deepEqual([...bundle.schema.actions.keys()].toSorted(), pairs.map((pair) => pair.key).toSorted());
  for (const pair of pairs) assert.deepEqual(bundle.schema.actions.get(pair.key)?.resourceTypes, [pair.entity], pair.key);
});

test("the policies that ship have nothing to warn of: obligations of Sallyport may be named by none", () => {
  assert.deepEqual(inspectBundle(files).findings.warnings, []);
  const more = `${files["obligations.yaml"]}\nnotify-staff: { id: notify, type: notification, properties: { audience: "group:staff", template: decision } }\n`;
  assert.deepEqual(
    inspectBundle({ ...files, "obligations.yaml": more }).findings.warnings.map(({ message }) => message),
    ["notify-staff is named by no policy"],
  );
});

test("each policy knows its file and line", () => {
  for (const policy of readBundle(files).policies.values()) {
    const text = files[policy.file.replace("policies/", "")] ?? "";
    assert.ok(
      text
        .split("\n")
        .slice(policy.line - 1)
        .join("\n")
        .startsWith(policy.text),
      policy.id,
    );
    assert.ok(policy.text.includes(`@id("${policy.id}")`));
  }
});

const refused: readonly (readonly [name: string, policy: string, says: RegExp])[] = [
  ["no id", `@description("x") permit (${scope});`, /needs @id/],
  ["an id of other letters", `@id("Page View") @description("x") permit (${scope});`, /needs @id/],
  ["no description", `@id("extra") permit (${scope});`, /needs @description/],
  [
    "a repeated id",
    `@id("page-granted") @description("x") permit (${scope});`,
    /repeats an @id; the first stands in policies\/pages\.cedar:\d+/,
  ],
  ["an unknown annotation", `${head}@advise("x") permit (${scope});`, /unknown annotation @advise/],
  ["an unknown obligation", `${head}@obligation("mfa,cake") permit (${scope});`, /unknown obligation cake/],
  ["an unknown template", `${head}@requestable("cake") permit (${scope}) when { context.approved };`, /unknown template cake/],
  ["a request that no approval would grant", `${head}@requestable("four-eyes") permit (${scope});`, /no approval would change it/],
  ["an unknown reason", `${head}@reason("cake") forbid (${scope}) when { context.via_agent };`, /unknown reason cake/],
  ["a permit with a reason", `${head}@reason("forbidden") permit (${scope}) when { context.via_agent };`, /only a denial has/],
  ["a permit that believes claims", `${head}permit (${scope}) when { context has claimed };`, /reads context\.claimed/],
  ["a permit open in all three", `${head}permit (principal, action, resource) when { context.owner };`, /permits every action/],
  ["a permit that wants a weak sign-in", `${head}permit (${scope}) when { !context.mfa };`, /permits less the more of context\.mfa/],
  ["a permit unless approved", `${head}permit (${scope}) unless { context.approved };`, /permits less the more of context\.approved/],
  ["a forbid for the strongly signed in", `${head}forbid (${scope}) when { context.via_agent && context.mfa };`, /permits less/],
  [
    "a permit for few steps",
    `${head}permit (principal, action == Action::"tool:tools/call", resource) when { context has delegation && context.delegation.steps_left < 5 };`,
    /permits less the more steps or budget/,
  ],
  [
    "a forbid for a cheap call",
    `${head}forbid (principal, action == Action::"tool:tools/call", resource) when { context has delegation && context.delegation.cost <= 3 };`,
    /permits less the more steps or budget/,
  ],
  [
    "a permit unless much is left",
    `${head}permit (principal, action == Action::"tool:tools/call", resource) unless { context has delegation && context.delegation.budget_left > 3 };`,
    /permits less the more steps or budget/,
  ],
  [
    "limits too entangled to tell",
    `${head}permit (principal, action == Action::"tool:tools/call", resource) when { context has delegation && context.delegation.steps_left * 2 > 3 };`,
    /too entangled/,
  ],
  ["an unknown advice", `${head}@advice("cake") permit (${scope});`, /unknown advice cake/],
  [
    "an id that is a word of the administration",
    `@id("rollouts") @description("x") permit (${scope});`,
    /word of the policy administration/,
  ],
  ["a condition that never holds", `${head}permit (${scope}) when { false };`, /impossible/],
  ["an assurance too entangled to tell", `${head}permit (${scope}) when { context.mfa == context.owner };`, /too entangled/],
  ["an unknown action", `${head}permit (principal, action == Action::"pages:fly", resource);`, /unrecognized action/],
  ["an unknown member", `${head}permit (${scope}) when { context.cake };`, /cake/],
  ["a type that does not fit", `${head}permit (${scope}) when { context.granted > 1 };`, /type/],
  [
    "a policy that can never apply",
    `${head}permit (principal, action == Action::"pages:view", resource is Secret);`,
    /applicable action|impossible/,
  ],
  ["context as a value", `${head}permit (${scope}) when { context == {} };`, /names members of context|type/],
  ["a template with a slot", `${head}permit (principal == ?principal, action == Action::"pages:view", resource);`, /slot/],
  ["text that is no policy", "permit (", /unexpected end/],
];
for (const [name, policy, says] of refused) {
  test(`a bundle is refused for ${name}`, () => {
    const issues = issuesOf({ "extra.cedar": policy });
    assert.ok(issues.length > 0);
    assert.ok(
      issues.some((issue) => says.test(issue)),
      issues.join("\n"),
    );
  });
}

test("what was said of a policy is said anew where its schema, its place or its words are others, and again where they are the same", () => {
  const withOwner = (files["schema.cedarschema"] ?? "").replace(/(entity PluginRoute[^{;]*)\{/, "$1{ owner: Person, ");
  const reads = `${head}permit (principal, action == Action::"plugin.route:view", resource) when { resource.owner == principal };`;
  for (const [more, published] of [
    [{ "extra.cedar": reads }, ["policies/extra.cedar:1"]],
    [{ "extra.cedar": reads, "schema.cedarschema": withOwner }, []],
    [{ "extra.cedar": `\n${reads}` }, ["policies/extra.cedar:2"]],
    [{ "other.cedar": reads }, ["policies/other.cedar:1"]],
    [{ "extra.cedar": reads.replace("resource.owner == principal", "true") }, []],
    [{ "extra.cedar": reads }, ["policies/extra.cedar:1"]],
  ] as const)
    assert.deepEqual([...new Set(issuesOf(more).map((issue) => issue.split(":", 2).join(":")))], published);
});

test("limits may stand where more of them permits more", () => {
  const good = [
    "permit (S) when { context has delegation && context.delegation.steps_left > 2 };",
    "permit (S) when { context has delegation && context.delegation.cost <= context.delegation.budget_left };",
    "permit (S) unless { context has delegation && context.delegation.budget_left < 3 };",
    "forbid (S) when { context has delegation && !(context.delegation.steps_left >= 2) };",
    "forbid (S) unless { context has delegation && 3 > context.delegation.cost };",
  ];
  for (const policy of good) {
    const text = head + policy.replace("S", 'principal, action == Action::"tool:tools/call", resource');
    assert.deepEqual(issuesOf({ "extra.cedar": text }), [], policy);
  }
});

test("every finding has file, line, column and a hint of what to do", () => {
  const { findings } = inspectBundle({
    ...files,
    "extra.cedar": `// a comment\n  ${head}permit (${scope}) when {\n  context.cake };\n\npermit (${scope});\n ${head.replace("extra", "b")}@obligation("cake") permit (${scope});`,
    "advice.yaml": "ask-ada:\n  text: 7",
  });
  const where = (finding: Finding) => [finding.file, finding.line, finding.column, finding.policy_id];
  assert.deepEqual(findings.errors.map(where), [
    ["policies/advice.yaml", 2, 9, undefined],
    ["policies/extra.cedar", 3, 3, "extra"],
  ]);
  assert.deepEqual(findings.lint.map(where), [
    ["policies/extra.cedar", 5, 1, undefined],
    ["policies/extra.cedar", 5, 1, undefined],
    ["policies/extra.cedar", 6, 2, "b"],
  ]);
  assert.match(findings.errors[1]?.hint ?? "", /did you mean/);
  for (const { hint } of findings.lint) assert.ok(hint);
});

test("what is declared and never named is a warning, and keeps nothing from deciding", () => {
  const { findings, bundle } = inspectBundle({ ...files, "advice.yaml": "ask-ada: { text: Ask Ada. }" });
  assert.ok(findings.warnings.some(({ message }) => message === "ask-ada is named by no policy"));
  assert.ok(bundle);
  assert.deepEqual([...readBundle({ ...files, "advice.yaml": "ask-ada: { text: Ask Ada. }" }).advice.keys()], ["ask-ada"]);
});

test("a bundle of which a policy had to be left out decides nothing", () => {
  assert.equal(inspectBundle({ ...files, "extra.cedar": `forbid (principal, action, resource);` }).bundle, undefined);
  const twice = `@id("page-granted") @description("x") forbid (${scope});`;
  assert.equal(inspectBundle({ ...files, "extra.cedar": twice }).bundle, undefined);
});

test("every issue of a bundle is named at once, with its place", () => {
  const issues = issuesOf({
    "extra.cedar": `// one\npermit (${scope});\n\n@id("b") @description("b")\npermit (principal, action, resource);`,
    "obligations.yaml": "mfa: { type: step-up }\ncake: { type: custom }",
    "templates.yaml": "four-eyes: { approvers: everybody, ttl_minutes: 1, valid_minutes: 1, single_use: true }",
  });
  for (const wanted of [
    "policies/extra.cedar:2:1 needs @id",
    "policies/extra.cedar:4:1 b permits every action",
    "cake, which the decision point cannot make",
    "must be resource_owner",
  ]) {
    assert.ok(
      issues.some((issue) => issue.includes(wanted)),
      `${wanted} in\n${issues.join("\n")}`,
    );
  }
});

test("a schema that is missing or broken is an issue with its line", () => {
  const { "schema.cedarschema": _schema, ...without } = files;
  assert.deepEqual(issuesOf({}, without)[0], "policies/schema.cedarschema:: is missing");
  assert.match(issuesOf({ "schema.cedarschema": "entity A;\nentity B in [C;" })[0] ?? "", /^policies\/schema\.cedarschema:2:15 /);
});

test("the digest changes with every name and every text, and with nothing else", () => {
  const one = digestOf({ a: "1", b: "2" });
  assert.equal(one, digestOf({ b: "2", a: "1" }));
  const others: readonly Readonly<Record<string, string>>[] = [{ a: "1", b: "3" }, { a: "1", c: "2" }, { a: "1b", b: "2" }, { a: "1" }];
  for (const other of others) assert.notEqual(one, digestOf(other));
});

test("a policy is judged by the whole schema, however many others stand beside it", () => {
  const many = Array.from(
    { length: 40 },
    (_none, index) => `@id("many-${index}") @description("x") permit (${scope}) when { context.mfa };`,
  );
  const bad = [
    [`@id("bad-a") @description("x") permit (${scope}) when { context.cake };`, /bad-a|cake/],
    [`@id("bad-b") @description("x") permit (principal, action == Action::"pages:viwe", resource);`, /pages:viwe/],
    [`@id("bad-c") @description("x") forbid (principal, action, resource) when { action == Action::"pages:fly" };`, /pages:fly/],
    [`@id("bad-d") @description("x") forbid (principal, action, resource) when { resource is Cake };`, /Cake/],
    [`@id("bad-e") @description("x") forbid (${scope}) when { resource == Secret::"a" && false };`, /impossible/],
  ] as const;
  const text = [...many.slice(0, 20), ...bad.map(([policy]) => policy), ...many.slice(20)].join("\n");
  const { findings } = inspectBundle({ ...files, "extra.cedar": text });
  const published = [...findings.errors, ...findings.lint];
  for (const [index, [, says]] of bad.entries()) {
    const found = published.filter(({ message, policy_id }) => policy_id === `bad-${"abcde"[index]}` && says.test(message));
    assert.equal(found.length, 1, `bad-${"abcde"[index]}: ${JSON.stringify(published)}`);
    assert.equal(found[0]?.line, 21 + index);
  }
  assert.equal(new Set(published.map(({ policy_id }) => policy_id)).size, bad.length);
});

test("a schema is refused for an action that no policy names", () => {
  const schema = `${files["schema.cedarschema"]}\naction "cakes:eat" appliesTo { principal: [Person], resource: [Cake], context: {} };`;
  assert.ok(issuesOf({ "schema.cedarschema": schema }).some((issue) => issue.includes("Cake")));
});
