import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { maskKinds } from "#contract/data-scope.ts";
import type { Facts } from "#contract/facts.ts";
import { obligationKinds, type Meetable, type ObligationRow } from "#contract/obligations.ts";
import { whyRefused } from "#pdp-client/obligations.ts";
import type { EvaluationReply } from "#contract/authzen.ts";
import { assertAsksFor, signInDemands, type DemandedSignIn } from "#testing/sign-in-demands.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { pdpWorld, type PdpWorld } from "#testing/pdp.ts";
import { testAudiences } from "#testing/identity.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import { readBundle } from "#pdp/bundle/bundle.ts";
import { readPolicyFolder } from "#pdp/bundle/policy-files.ts";
import { mergeProperties } from "#pdp/bundle/merge-properties.ts";
import { areSupported, makeObligations } from "./obligations.ts";

// Ahead of the first test: what waits at the top of a file lets the tests declared before it end, and what they share with them.
const files = await readPolicyFolder(policyFolder);

test("of two masks of one column the stricter holds, whichever comes first", () => {
  for (const [rank, one] of maskKinds.entries())
    for (const [other, kind] of maskKinds.entries()) {
      const merged = mergeProperties({ column_mask: { salary: one } }, { column_mask: { salary: kind } });
      assert.deepEqual(merged, { column_mask: { salary: maskKinds[Math.min(rank, other)] } }, `${one} and ${kind}`);
    }
  const union = mergeProperties({ column_mask: { a: "year", b: "hash" } }, { column_mask: { b: null, c: "last4" } });
  assert.deepEqual(union, { column_mask: { a: "year", b: "null", c: "last4" } }, "columns of both; YAML's null is the mask");
});

const merged: readonly (readonly [what: string, one: object, other: object, both: object])[] = [
  ["tenants intersect", { tenant_ids: ["a", "b"] }, { tenant_ids: ["b", "c"] }, { tenant_ids: ["b"] }],
  ["tenants without a common one are none", { tenant_ids: ["a"] }, { tenant_ids: ["b"] }, { tenant_ids: [] }],
  ["the smaller number", { ttl_s: 300, max_uses: 1 }, { ttl_s: 60, max_uses: 5 }, { ttl_s: 60, max_uses: 1 }],
  ["what only one says", { ttl_s: 300 }, { max_uses: 5 }, { ttl_s: 300, max_uses: 5 }],
  ["the stronger sign-in", { acr_value: "strong" }, { acr_value: "phishing_resistant" }, { acr_value: "phishing_resistant" }],
  [
    "the stronger sign-in, the other way",
    { acr_value: "phishing_resistant" },
    { acr_value: "strong" },
    { acr_value: "phishing_resistant" },
  ],
  ...[
    ["t IN ('a', 'b')", "t IN ('b', 'c')", "t IN ('b')"],
    ["t IN ('a')", "t IN ('b')", "1=0"],
    ["t IN ('a')", "1=0", "1=0"],
    ["t IN ('a', 'b')", "t IN ('a', 'b') AND o = 'x'", "t IN ('a', 'b') AND o = 'x'"],
    ["t IN ('a') AND o = 'x'", "t IN ('a') AND o = 'x'", "t IN ('a') AND o = 'x'"],
    ["t IN ('a') AND o = 'x'", "t IN ('a') AND o = 'y'", "1=0"],
    ["t IN ('a', 'b')", "o IN ('x')", "t IN ('a', 'b') AND o = 'x'"],
    ["t IN ('a', 'b')", "o IN ('x', 'y')", "1=0"],
    ["t IN ('a') AND o = 'x'", "p IN ('z')", "1=0"],
    ["t IN ('a') OR 1=1", "t IN ('a')", "1=0"],
    ["", "t IN ('a')", "1=0"],
  ].map(
    ([one = "", other = "", both = ""]) =>
      [`${one} and ${other}`, { row_filter_sql: one }, { row_filter_sql: other }, { row_filter_sql: both }] as const,
  ),
];
for (const [what, one, other, both] of merged)
  void test(`together: ${what}`, () => {
    assert.deepEqual(mergeProperties({ ...one }, { ...other }), both);
    assert.deepEqual(mergeProperties({ ...other }, { ...one }), both, "the other way round");
  });

test("the shipped policies declare each obligation, and each is met as it is made", () => {
  const bundle = readBundle(files);
  assert.deepEqual([...bundle.obligations.keys()].toSorted(), Object.keys(obligationKinds).toSorted());
  const now = new Date();
  const signedIn = { acr: "phishing_resistant", authTime: Math.floor(now.getTime() / 1000) } as const;
  for (const [id, { type, kind, enforcedBy }] of Object.entries<ObligationRow>(obligationKinds)) {
    const obligations = makeObligations([id], bundle, {} as Facts);
    const meets = enforcedBy.length === 0 ? [] : [(kind ?? type) as Meetable];
    const refusal = whyRefused({ decision: true, decisionId: "d", obligations }, signedIn, { publicOrigin: "", now, meets });
    assert.equal(refusal, undefined, id);
  }
});

test("an enforcement point supports what it names by type or kind; what the decision point meets needs no support", () => {
  const scope = { id: "data-scope", type: "custom", properties: { kind: "data_scope" } };
  const notify = { id: "notify", type: "notification", properties: {} };
  const cases: readonly (readonly [supported: "all" | readonly string[], met: boolean])[] = [
    ["all", true],
    [["data_scope"], true],
    [["custom"], true],
    [["step-up"], false],
    [[], false],
  ];
  for (const [supported, met] of cases)
    assert.equal(areSupported([scope, notify], supported === "all" ? "all" : new Set(supported)), met, String(supported));
  assert.equal(areSupported([notify], new Set()), true);
});

const declared: readonly (readonly [text: string, says: RegExp])[] = [
  ["cake: { type: custom }", /declares cake/],
  ["mfa: { type: custom, properties: { acr_value: strong, max_age_seconds: 300 } }", /type step-up/],
  ["mfa: { type: step-up, properties: { acr_value: weak, max_age_seconds: 300 } }", /acr_value/],
  ["mfa: { type: step-up, properties: { acr_value: strong, max_age_seconds: 3000 } }", /max_age_seconds/],
  ["notify: { type: notification, properties: { audience: everybody, template: x } }", /audience/],
  ["secret-grant: { type: custom, properties: { kind: secret_grant, ttl_s: 0, max_uses: 1 } }", /ttl_s/],
  ["end-session: { type: session_termination, properties: { now: true } }", /end-session/],
  ["data-scope: { type: custom, properties: { kind: data_scope, column_mask: { salary: secret } } }", /column_mask/],
  [
    "notify: { type: notification, properties: { audience: subject, template: a } }\nn: { id: notify, type: notification, properties: { audience: subject, template: b } }",
    /another template than the first notify/,
  ],
];
test("obligations that cannot be made, or whose forms cannot both hold, stop the bundle", () => {
  for (const [text, says] of declared) {
    // Sallyport's policies name mfa and data-scope: those stay declared.
    const rest = ["mfa", "data-scope"]
      .filter((id) => !text.startsWith(`${id}:`))
      .map((id) =>
        id === "mfa"
          ? "mfa: { type: step-up, properties: { acr_value: strong, max_age_seconds: 300 } }"
          : "data-scope: { type: custom, properties: { kind: data_scope } }",
      );
    assert.throws(
      () => readBundle({ ...files, "obligations.yaml": [...rest, text].join("\n") }),
      (error: unknown) => error instanceof BundleRefused && says.test(error.message),
      text,
    );
  }
});

/** The demo world under Sallyport's policies and some more. */
const worldWith = async (t: TestContext, obligations: string, cedar: string): Promise<PdpWorld> => {
  const folder = await mkdtemp(join(tmpdir(), "obligations-"));
  t.after(() => rm(folder, { recursive: true }));
  await cp(policyFolder, folder, { recursive: true });
  // What the cases say of Sallyport's own policies does not hold of these.
  await rm(join(folder, "cases"), { recursive: true });
  await writeFile(join(folder, "more.cedar"), cedar);
  await writeFile(join(folder, "obligations.yaml"), `${files["obligations.yaml"] ?? ""}\n${obligations}`);
  await writeFile(join(folder, "pdp.yaml"), `policy_dir: ${folder}`);
  return pdpWorld(t, { settings: { PDP_CONFIG_FILE: join(folder, "pdp.yaml") } });
};
const person = (login: string) => ({ type: "identity", id: `person:${login}`, properties: { tenant: "tenant:acme" } });
const page = (login: string, id: string) => ({ subject: person(login), action: { name: "view" }, resource: { type: "pages", id } });
const decide = async (world: PdpWorld, token: string, body: unknown): Promise<EvaluationReply> =>
  (await (await world.ask("/access/v1/evaluation", token, body)).json()) as EvaluationReply;

test("a permit obliges to what all deciding permits name, each obligation once in its narrowest form", async (t) => {
  const world = await worldWith(
    t,
    "grant-short: { id: secret-grant, type: custom, properties: { kind: secret_grant, ttl_s: 60, max_uses: 9 } }\n" +
      "scope-year: { id: data-scope, type: custom, properties: { kind: data_scope, column_mask: { salary: year, birth_date: null } } }",
    ["secret-grant", "grant-short,scope-year", "data-scope"]
      .map(
        (names, index) =>
          `@id("more-${index}") @description("x") @obligation("${names}") permit (principal, action == Action::"pages:view", resource);`,
      )
      .join("\n"),
  );
  const { decision, context } = await decide(world, await world.serviceToken(), page("cleo", "people"));
  assert.equal(decision, true);
  const byId = new Map(context?.obligations?.map((obligation) => [obligation.id, obligation.properties]));
  assert.deepEqual([...byId.keys()].toSorted(), ["data-scope", "secret-grant"]);
  assert.deepEqual(byId.get("secret-grant"), { kind: "secret_grant", ttl_s: 60, max_uses: 1 });
  const mask = byId.get("data-scope")?.["column_mask"] as Record<string, string>;
  assert.deepEqual([mask["salary"], mask["birth_date"]], ["year", "null"]);
});

test("a denial obliges to what the forbids that decided name, and to nothing that a permit names", async (t) => {
  const world = await worldWith(
    t,
    "",
    `@id("more-permit") @description("x") @obligation("secret-grant") permit (principal, action == Action::"pages:view", resource);
     @id("more-forbid") @description("x") @obligation("end-session,notify") forbid (principal, action == Action::"pages:view", resource)
     when { principal in Group::"group:analysts" };
     @id("more-mfa") @description("x") @obligation("mfa") forbid (principal, action == Action::"pages:view", resource) unless { context.mfa };`,
  );
  const token = await world.serviceToken();
  const denied = await decide(world, token, page("cleo", "people"));
  assert.deepEqual([denied.decision, denied.context?.reason], [false, "forbidden"]);
  assert.deepEqual(
    denied.context?.obligations,
    [{ id: "end-session", type: "session_termination", properties: {} }],
    "no sign-in would lift it",
  );
  const stepUp = await decide(world, token, page("ben", "people"));
  assert.deepEqual([stepUp.context?.reason, stepUp.context?.obligations?.map(({ id }) => id)], ["step_up_required", ["mfa"]]);

  const [published] = (await world.world.published()).filter(({ type }) => type === "decision.notice");
  assert.deepEqual(published?.data, {
    decision_id: denied.context?.decision_id,
    audience: "resource_owner",
    template: "decision",
    decision: false,
    action: "view",
    resource_type: "pages",
  });
  assert.ok(!JSON.stringify(published?.data).includes("cleo"), "no subject in the event");
});

test("the resource's owner is told of a permit too, and nobody else sees it on the stream", async (t) => {
  const world = await worldWith(
    t,
    "",
    `@id("more-permit") @description("x") @obligation("notify") permit (principal, action == Action::"pages:view", resource);`,
  );
  const foreign = await world.identity.tokenFor(
    { sub: "service:pep", tenant: "*", scopes: ["authzen.pep"], clientId: "service:pep" },
    testAudiences.pdp,
  );
  const reply = await decide(world, foreign, page("cleo", "operations"));
  assert.deepEqual([reply.decision, reply.context?.obligations], [true, undefined], "who asks has nothing to do");
  // A permit to view is written within 50 ms; reading it back waits for that.
  await world.ask(`/access/v1/decisions/${reply.context?.decision_id ?? ""}`, foreign);
  const [published] = (await world.world.published()).filter(({ type }) => type === "decision.notice");
  assert.deepEqual([published?.visible_to, published?.kind], [["person:ada"], "notification"]);
});

test("a permit that needs more than the enforcement point can do is a denial, and no search finds it", async (t) => {
  const world = await worldWith(
    t,
    "",
    `@id("more-permit") @description("x") @obligation("secret-grant") permit (principal, action == Action::"pages:view", resource) when { principal in Group::"group:people-ops" };`,
  );
  const token = await world.identity.tokenFor(
    { sub: "service:pep", tenant: "*", scopes: ["authzen.pep", "authzen.search"], clientId: "service:pep" },
    testAudiences.pdp,
  );
  const search = async (login: string, supported: readonly string[] | undefined) => {
    const context = supported === undefined ? {} : { supported_obligations: supported };
    const body = { subject: person(login), action: { name: "view" }, resource: { type: "pages" }, context };
    const { results } = (await (await world.ask("/access/v1/search/resource", token, body)).json()) as { results: { id: string }[] };
    return results.map(({ id }) => id);
  };
  const unmet = await decide(world, token, page("ben", "people"));
  assert.deepEqual([unmet.decision, unmet.context?.reason, unmet.context?.obligations], [false, "obligation_unsupported", undefined]);
  assert.deepEqual(await search("ben", undefined), []);
  assert.deepEqual(await search("cleo", undefined), ["my-work", "people"], "where nothing is asked nothing is lacking");
  for (const supported of [["secret_grant"], ["custom"]]) {
    const met = await decide(world, token, { ...page("ben", "people"), context: { supported_obligations: supported } });
    assert.deepEqual([met.decision, met.context?.obligations?.map(({ id }) => id)], [true, ["secret-grant"]]);
    assert.deepEqual(await search("ben", supported), ["my-work", "operations", "people"]);
  }
});

test("a denial for an obligation that cannot be met carries nothing of what the permit would have obliged to", async (t) => {
  const world = await pdpWorld(t);
  const token = await world.identity.tokenFor(
    { sub: "service:pep", tenant: "*", scopes: ["authzen.pep"], clientId: "service:pep" },
    testAudiences.pdp,
  );
  const call = { subject: person("ben"), action: { name: "tools/call" }, resource: { type: "tool", id: "people.demo.list_employees" } };
  const scoped = await decide(world, token, { ...call, context: { supported_obligations: ["data_scope"] } });
  assert.equal(scoped.decision, true);
  assert.equal(scoped.context?.obligations?.[0]?.id, "data-scope");
  for (const supported of [undefined, [], ["step-up"], ["secret_grant"]]) {
    const unmet = await decide(world, token, { ...call, context: supported === undefined ? {} : { supported_obligations: supported } });
    assert.deepEqual([unmet.decision, unmet.context?.reason], [false, "obligation_unsupported"]);
    assert.equal(unmet.context?.obligations, undefined);
    assert.doesNotMatch(JSON.stringify(unmet), /row_filter_sql|tenant_ids|data_scope/);
  }
});

for (const demand of signInDemands)
  void test(`a sign-in lifts what asks for it, and the permit still asks for all of it: ${demand.what}`, async (t) => {
    const { acr_value, max_age_seconds } = demand.obligation.properties as Record<string, unknown>;
    const world = await worldWith(
      t,
      `strict: { id: mfa, type: step-up, properties: { acr_value: ${String(acr_value)}, max_age_seconds: ${String(max_age_seconds)} } }`,
      `@id("more-forbid") @description("x") @obligation("strict,end-session")
       forbid (principal, action in [Action::"pages:view", Action::"policies:view", Action::"decisions:view_all"], resource) unless { context.mfa };`,
    );
    const seconds = Math.floor(world.clock.now.getTime() / 1000);
    const instance = await world.serviceToken();
    const of = ({ acr, age }: DemandedSignIn) => ({ acr, auth_time: seconds - age });
    const ask = async (signIn: object) => {
      const asked = page("ben", "people");
      const subject = { ...asked.subject, properties: { ...asked.subject.properties, ...signIn } };
      const { decision, context } = await decide(world, instance, { ...asked, subject });
      return [decision, context?.reason, context?.obligations?.find(({ id }) => id === "mfa")?.properties];
    };
    assert.deepEqual(await ask({}), [false, "step_up_required", demand.obligation.properties]);
    assert.deepEqual(await ask(of(demand.tooLittle)), [true, undefined, demand.obligation.properties]);
    assert.deepEqual(await ask(of(demand.enough)), [true, undefined, demand.obligation.properties]);

    const own = async (path: string, { acr, age }: DemandedSignIn) =>
      world.ask(path, await world.personToken("ada", { acr, authTime: seconds - age }));
    for (const path of ["/access/v1/policies", "/access/v1/decisions?subject=person:cleo"]) {
      await assertAsksFor(await own(path, demand.tooLittle), demand, path);
      assert.equal((await own(path, demand.enough)).status, 200, path);
    }
    const weak = (await (await own("/access/v1/decisions", demand.tooLittle)).json()) as { code?: string };
    assert.equal(weak.code, "step_up_required", "what a sign-in would show is not left out unsaid");
  });

test("Sallyport's own step-up, declared stronger, is as strong as it says for every policy that names it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "obligations-"));
  t.after(() => rm(folder, { recursive: true }));
  await cp(policyFolder, folder, { recursive: true });
  await rm(join(folder, "cases"), { recursive: true });
  const text = files["obligations.yaml"] ?? "";
  const stronger = text.replace("acr_value: strong", "acr_value: phishing_resistant");
  assert.notEqual(stronger, text);
  await writeFile(join(folder, "obligations.yaml"), stronger);
  await writeFile(join(folder, "pdp.yaml"), `policy_dir: ${folder}`);
  const world = await pdpWorld(t, { settings: { PDP_CONFIG_FILE: join(folder, "pdp.yaml") } });
  const signIn = { acr: "strong", auth_time: Math.floor(world.clock.now.getTime() / 1000) };
  const subject = { ...person("ben"), properties: { tenant: "tenant:acme", ...signIn } };
  const call = { subject, action: { name: "tools/call" }, resource: { type: "tool", id: "people.demo.update_salary" } };
  const { decision, context } = await decide(world, await world.serviceToken(), call);
  const mfa = context?.obligations?.find(({ id }) => id === "mfa")?.properties;
  assert.deepEqual([decision, mfa], [true, { acr_value: "phishing_resistant", max_age_seconds: 300 }]);
});
