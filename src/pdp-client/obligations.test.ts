import assert from "node:assert/strict";
import { test } from "node:test";
import type { Obligation } from "#contract/authzen.ts";
import { obligationKinds, type Meetable, type ObligationRow } from "#contract/obligations.ts";
import { dataScopesOf, whyRefused, type RefusalParts } from "./obligations.ts";

const now = new Date("2026-03-01T12:00:00Z");
const seconds = now.getTime() / 1000;
const origin = "https://x.example";

interface SignIn {
  readonly acr?: string;
  readonly authTime?: number;
}

/** A sign-in so many seconds ago. */
const ago = (acr: string, age: number): SignIn => ({ acr, authTime: seconds - age });
const strong = ago("strong", 10);
const resistant = ago("phishing_resistant", 10);

/** `met`; the strength and age that the challenge asks for; or the reason of a 403. */
type Outcome = "met" | readonly [acr: string, maxAge: number] | "obligation_unsupported" | "not_granted";

const outcomeOf = (
  obligations: readonly Obligation[],
  signIn: SignIn,
  more: Partial<RefusalParts> & { readonly denied?: string } = {},
): Outcome => {
  const { denied, ...parts } = more;
  const decided = { decision: denied === undefined, decisionId: "d_1", obligations, ...(denied === undefined ? {} : { reason: denied }) };
  const refusal = whyRefused(decided, signIn, { publicOrigin: origin, now, ...parts });
  if (refusal === undefined) return "met";
  const { members, headers } = refusal.options;
  assert.equal(members?.["decision_id"], "d_1");
  if (refusal.status === 403) {
    assert.deepEqual([refusal.code, members["step_up"], headers], ["access_denied", undefined, undefined]);
    return members["reason"] as Outcome;
  }
  assert.deepEqual([refusal.code, refusal.status, members["reason"]], ["step_up_required", 401, "step_up_required"]);
  const { acr_value, max_age_seconds, url } = members["step_up"] as { acr_value: string; max_age_seconds: number; url: string };
  assert.equal(url, `${origin}/auth/login?acr_values=${acr_value}&max_age=${max_age_seconds}`);
  assert.deepEqual(headers, {
    "www-authenticate": `Bearer error="insufficient_user_authentication", acr_values="${acr_value}", max_age=${max_age_seconds}`,
  });
  return [acr_value, max_age_seconds];
};

/** The names that a demand for a sign-in goes by. */
const names: readonly (readonly [id: string, type: string, properties: object])[] = [
  ["mfa", "step-up", {}],
  ["other", "step-up", {}],
  ["mfa", "custom", { kind: "mfa" }],
  ["other", "custom", { kind: "mfa" }],
  ["other", "custom", { kind: "step-up" }],
  ["mfa", "notification", {}],
];

/** What is said of the sign-in, and what that asks for. */
const demands: readonly (readonly [said: object, level: string, maxAge: number])[] = [
  [{}, "strong", 300],
  [{ acr_value: "strong" }, "strong", 300],
  [{ acr_value: "strong", max_age_seconds: 300 }, "strong", 300],
  [{ max_age_seconds: 60 }, "strong", 60],
  [{ acr_value: "strong", max_age_seconds: 60 }, "strong", 60],
  [{ acr_value: "strong", max_age_seconds: 3600 }, "strong", 3600],
  [{ acr_value: "phishing_resistant" }, "phishing_resistant", 300],
  [{ acr_value: "phishing_resistant", max_age_seconds: 60 }, "phishing_resistant", 60],
  [{ acr_value: "phishing_resistant", max_age_seconds: 1 }, "phishing_resistant", 1],
  [{ max_age_seconds: 999_999 }, "strong", 999_999],
];

/** Sign-ins by name; when they are as good and as fresh as that. */
const signIns: readonly (readonly [what: string, of: SignIn, meets: (level: string, maxAge: number) => boolean])[] = [
  ["none", {}, () => false],
  ["one factor, now", { authTime: seconds }, () => false],
  ["an unknown strength, now", ago("urn:strong", 0), () => false],
  ["strong, nobody says when", { acr: "strong" }, () => false],
  ["resistant, nobody says when", { acr: "phishing_resistant" }, () => false],
  ["strong, no time that there is", { acr: "strong", authTime: Number.NaN }, () => false],
  ...[0, 1, 2, 59, 60, 61, 100, 299, 300, 301, 3600, 3601, 999_999, 1_000_000].flatMap((age) => [
    [`strong, ${age} s ago`, ago("strong", age), (level: string, max: number) => level === "strong" && age <= max] as const,
    [`resistant, ${age} s ago`, ago("phishing_resistant", age), (_level: string, max: number) => age <= max] as const,
  ]),
  ["strong, within the skew of a clock to come", ago("strong", -60), (level) => level === "strong"],
  ["strong, later than any clock", ago("strong", -61), () => false],
  ["resistant, in a year", ago("phishing_resistant", -31_536_000), () => false],
  ["resistant, at the end of time", ago("phishing_resistant", Number.NEGATIVE_INFINITY), () => false],
];

for (const [id, type, own] of names)
  for (const [said, level, maxAge] of demands)
    test(`${type} ${id} ${JSON.stringify({ ...own, ...said })} asks for ${level} within ${maxAge} s`, () => {
      const obligation = { id, type, properties: { ...own, ...said } };
      for (const [what, signIn, meets] of signIns) {
        const wanted = meets(level, maxAge) ? "met" : [level, maxAge];
        assert.deepEqual(outcomeOf([obligation], signIn), wanted, what);
        // What is refused for want of a sign-in asks for the same one, whatever the caller has.
        assert.deepEqual(outcomeOf([obligation], signIn, { denied: "step_up_required" }), [level, maxAge], what);
        assert.equal(outcomeOf([obligation], signIn, { denied: "not_granted" }), "not_granted", what);
      }
    });

test("without properties it asks for what policies know as a fresh strong sign-in, and so does a denial that says nothing", () => {
  const bare = { id: "mfa", type: "step-up" };
  assert.equal(outcomeOf([bare], strong), "met");
  assert.deepEqual(outcomeOf([bare], ago("strong", 301)), ["strong", 300]);
  assert.deepEqual(outcomeOf([], {}, { denied: "step_up_required" }), ["strong", 300]);
  const ends = { id: "end-session", type: "session_termination" };
  assert.deepEqual(outcomeOf([ends], {}, { denied: "step_up_required" }), ["strong", 300], "what else a denial obliges to is no sign-in");
});

const malformed: readonly object[] = [
  { acr_value: "weak" },
  { acr_value: "" },
  { acr_value: "STRONG" },
  { acr_value: null },
  { acr_value: 7 },
  { acr_value: ["strong"] },
  { acr_value: 'strong" max_age="9' },
  { max_age_seconds: 0 },
  { max_age_seconds: -1 },
  { max_age_seconds: 1.5 },
  { max_age_seconds: "60" },
  { max_age_seconds: null },
  { max_age_seconds: 1e300 },
  { max_age_seconds: 1_000_000 },
  { max_age_seconds: Number.NaN },
  { acr_values: "phishing_resistant" },
  { acr_value: "strong", amr: ["hwk"] },
  { kind: 7 },
];
for (const properties of malformed)
  test(`a demand for a sign-in that says ${JSON.stringify(properties)} is met by none`, () => {
    for (const [id, type] of names)
      for (const signIn of [strong, resistant, {}]) {
        const obligation = { id, type, properties: { ...properties } };
        const wanted = "obligation_unsupported";
        assert.equal(outcomeOf([obligation], signIn), wanted);
        if (id === "mfa" || type === "step-up") assert.equal(outcomeOf([obligation], signIn, { denied: "step_up_required" }), wanted);
        assert.equal(outcomeOf([{ id: "mfa", type: "step-up" }, obligation], signIn), wanted, "beside a good one");
      }
  });

test("several demands are met by one sign-in that is as good as each", () => {
  const both = [
    { id: "mfa", type: "step-up", properties: { acr_value: "phishing_resistant", max_age_seconds: 300 } },
    { id: "soon", type: "step-up", properties: { acr_value: "strong", max_age_seconds: 60 } },
  ];
  for (const obligations of [both, both.toReversed()]) {
    assert.deepEqual(outcomeOf(obligations, ago("strong", 10)), ["phishing_resistant", 60]);
    assert.deepEqual(outcomeOf(obligations, ago("phishing_resistant", 61)), ["phishing_resistant", 60]);
    assert.equal(outcomeOf(obligations, ago("phishing_resistant", 60)), "met");
  }
});

test("what the operation itself asks for counts beside what policies oblige to, and never makes a denial", () => {
  const own = { level: "phishing_resistant", maxAgeSeconds: 120 } as const;
  assert.deepEqual(outcomeOf([], strong, { signIn: own }), ["phishing_resistant", 120]);
  assert.equal(outcomeOf([], resistant, { signIn: own }), "met");
  assert.deepEqual(outcomeOf([{ id: "mfa", type: "step-up", properties: { max_age_seconds: 60 } }], strong, { signIn: own }), [
    "phishing_resistant",
    60,
  ]);
  assert.deepEqual(outcomeOf([], {}, { signIn: own, denied: "step_up_required" }), ["phishing_resistant", 120]);
  assert.equal(outcomeOf([], {}, { signIn: own, denied: "not_granted" }), "not_granted");
});

const scope = { kind: "data_scope", tenant_ids: ["tenant:acme"], row_filter_sql: "t IN ('a')", column_mask: { salary: "null" } };
const grant = { kind: "secret_grant", ttl_s: 300, max_uses: 1 };
/** What may be met beside a sign-in, by which of the modules' words; `undefined`: by nobody. */
const others: readonly (readonly [what: string, obligation: Obligation, by: Meetable | undefined])[] = [
  ["a data scope", { id: "data-scope", type: "custom", properties: scope }, "data_scope"],
  ["one by its type", { id: "x", type: "data_scope", properties: { row_filter_sql: "1=0", column_mask: {} } }, "data_scope"],
  ["one with YAML's null", { id: "x", type: "custom", properties: { ...scope, column_mask: { salary: null } } }, "data_scope"],
  ["one without filter", { id: "x", type: "custom", properties: { kind: "data_scope", column_mask: {} } }, undefined],
  ["one whose filter is no text", { id: "x", type: "custom", properties: { ...scope, row_filter_sql: 1 } }, undefined],
  ["one without masks", { id: "x", type: "custom", properties: { kind: "data_scope", row_filter_sql: "1=0" } }, undefined],
  ["one whose mask is no word", { id: "x", type: "custom", properties: { ...scope, column_mask: { salary: 1 } } }, undefined],
  ["one whose masks are a list", { id: "x", type: "custom", properties: { ...scope, column_mask: ["salary"] } }, undefined],
  ["one that says more", { id: "x", type: "custom", properties: { ...scope, max_rows: 10 } }, undefined],
  ["one without properties", { id: "data-scope", type: "custom" }, undefined],
  ["one whose kind and type differ", { id: "x", type: "data_scope", properties: { ...scope, kind: "secret_grant" } }, undefined],
  ["a secret's grant", { id: "secret-grant", type: "custom", properties: grant }, "secret_grant"],
  ["one without end", { id: "secret-grant", type: "custom", properties: { ...grant, ttl_s: 0 } }, undefined],
  ["one for longer than any is written", { id: "x", type: "secret_grant", properties: { ttl_s: 86_401, max_uses: 1 } }, undefined],
  ["one for no use", { id: "secret-grant", type: "custom", properties: { ...grant, max_uses: 0.5 } }, undefined],
  ["one that is empty", { id: "secret-grant", type: "custom", properties: { kind: "secret_grant" } }, undefined],
  ["the end of the session", { id: "end-session", type: "session_termination" }, "session_termination"],
  ["one with a condition", { id: "end-session", type: "session_termination", properties: { when: "later" } }, undefined],
  ["word to somebody", { id: "notify", type: "notification", properties: { audience: "subject", template: "x" } }, "notification"],
  ["an unknown type", { id: "x", type: "watermark", properties: {} }, undefined],
  ["an unknown kind", { id: "x", type: "custom", properties: { kind: "watermark" } }, undefined],
  ["no kind", { id: "x", type: "custom", properties: {} }, undefined],
  ["a kind that is no text", { id: "x", type: "custom", properties: { kind: ["data_scope"] } }, undefined],
  ["the name of a prototype", { id: "x", type: "custom", properties: { kind: "constructor" } }, undefined],
  ["a known id of another type", { id: "data-scope", type: "watermark", properties: scope }, undefined],
];
const meetable = Object.values<ObligationRow>(obligationKinds).flatMap(({ type, kind, enforcedBy }) =>
  enforcedBy.length === 0 ? [] : [(kind ?? type) as Meetable],
);
for (const [what, obligation, by] of others)
  test(`beside a sign-in: ${what} is met by ${by === undefined ? "nobody" : `whoever meets ${by}, and nobody else`}`, () => {
    assert.equal(outcomeOf([obligation], resistant), "obligation_unsupported", "nothing is met unless it is said");
    for (const one of meetable)
      assert.equal(outcomeOf([obligation], resistant, { meets: [one] }), one === by ? "met" : "obligation_unsupported", one);
    assert.equal(outcomeOf([obligation], resistant, { meets: meetable }), by === undefined ? "obligation_unsupported" : "met");
    assert.equal(
      outcomeOf([{ id: "mfa", type: "step-up" }, obligation], {}, { meets: [] }),
      "obligation_unsupported",
      "no sign-in is asked for where it would not do",
    );
    assert.equal(outcomeOf([obligation], {}, { denied: "not_granted" }), "not_granted", "a denial stays what it is");
  });

test("the data scopes of a permit are handed over, YAML's null as the mask of that name", () => {
  const obligations = [
    { id: "mfa", type: "step-up" },
    { id: "data-scope", type: "custom", properties: { ...scope, column_mask: { salary: null, born: "year" } } },
  ];
  assert.deepEqual(dataScopesOf(obligations), [{ row_filter_sql: "t IN ('a')", column_mask: { salary: "null", born: "year" } }]);
});

test("a denial that an approval would lift says how to ask for it", () => {
  const accessRequest = { template: "x", expires_at: "2026-03-01T12:10:00Z", binding_token: "t", display: { title: "T", message: "M" } };
  const refusal = whyRefused(
    { decision: false, decisionId: "d_1", reason: "approval_required", obligations: [], accessRequest },
    {},
    { publicOrigin: origin, now },
  );
  assert.deepEqual(refusal?.options.members, {
    decision_id: "d_1",
    reason: "approval_required",
    evaluation_id: "d_1",
    access_request: accessRequest,
  });
});
