import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { z } from "zod";
import { facts as factsSchema, type Facts } from "#contract/facts.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { policyFolder } from "#testing/decision-matrix.ts";
import { readBundle } from "./bundle/bundle.ts";
import { readPolicyFolder } from "./bundle/policy-files.ts";
import { createCedar } from "./cedar.ts";
import { createEngine } from "./engine.ts";

/** Cases of policies, each on facts of its own: `given` changes neutral facts, `ask` is the question. */
const caseSchema = z.strictObject({
  name: z.string(),
  given: z.strictObject({
    subject: z.string(),
    agent: z.string().optional(),
    facts: z.record(z.string(), z.unknown()).default({}),
    now: z.iso.datetime().default("2026-01-01T00:00:00Z"),
  }),
  ask: z.strictObject({
    action: z.string(),
    resource: z.string(),
    id: z.string().default("*"),
    context: z.record(z.string(), z.unknown()).default({}),
  }),
  expect: z.strictObject({
    decision: z.boolean(),
    policies: z.array(z.string()).optional(),
    obligations: z.array(z.string()).optional(),
    reason: z.string().optional(),
    requestable: z.boolean().optional(),
  }),
});
type Case = z.infer<typeof caseSchema>;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const merge = (base: unknown, over: unknown): unknown =>
  isObject(base) && isObject(over)
    ? Object.fromEntries(
        [...new Set([...Object.keys(base), ...Object.keys(over)])].map((key) => [
          key,
          key in over ? merge(base[key], over[key]) : base[key],
        ]),
      )
    : over;

const kinds: Readonly<Record<string, string>> = { person: "Person", agent: "AIAgent", service: "Service", account: "Account" };
const identity = (id: string) => ({
  id,
  kind: kinds[id.split(":")[0] ?? ""] ?? "Person",
  name: id,
  tenant_ids: id.startsWith("service:") ? [] : ["tenant:acme"],
  groups: [],
  disabled: false,
  mfa_level: null,
});

const neutral = ({ given, ask }: Case): Facts =>
  factsSchema.parse(
    merge(
      {
        subject: identity(given.subject),
        agent: given.agent === undefined ? null : { ...identity(given.agent), controllers: [], client_id: null },
        capability: false,
        chain: true,
        definition_ok: true,
        delegation: null,
        resource:
          ask.id === "*"
            ? null
            : { node_id: ask.id, kind: "Resource", name: ask.id, tenant_ids: ["tenant:acme"], owners: [], granted: false, attributes: {} },
        edges: [],
      },
      given.facts,
    ),
  );

const folder = new URL("./cases/", import.meta.url);
const engine = createEngine(readBundle(await readPolicyFolder(policyFolder)));

for (const file of (await readdir(folder)).filter((name) => name.endsWith(".yaml")).toSorted()) {
  const cases = z.array(caseSchema).parse(parse(await readFile(new URL(file, folder), "utf8"), { merge: true }));
  for (const given of cases) {
    void test(`${file}: ${given.name}`, async () => {
      const { context } = given.ask;
      const now = new Date(given.given.now);
      const text = (name: string): string | undefined => (typeof context[name] === "string" ? context[name] : undefined);
      const tool = isObject(context["tool"]) ? context["tool"] : undefined;
      const decisionPoint = createCedar({
        engine,
        policyVersion: "cases",
        facts: { gather: async (asks) => ({ graphVersion: 1, facts: asks.map(() => neutral(given)) }), ready: async () => true },
        decisions: {
          resources: async () => new Map(),
          permittedCall: async (id) => (id === "d_permitted" ? { tenant: "tenant:acme" } : undefined),
        },
        metrics: createMetrics(),
        now: () => now,
      });
      const { verdicts } = await decisionPoint.evaluate({
        pep: "service:crud",
        bound: "*",
        subject: { type: "identity", id: given.given.subject, tenant: given.given.subject.startsWith("service:") ? "*" : "tenant:acme" },
        agents: given.given.agent === undefined ? [] : [given.given.agent],
        action: given.ask.action,
        resource: { type: given.ask.resource, id: given.ask.id },
        assurance: {
          ...(text("acr") === undefined ? {} : { acr: text("acr") ?? "" }),
          ...(typeof context["auth_time"] === "number" ? { authTime: context["auth_time"] } : {}),
        },
        vouched: {
          could: context["could"] === true,
          toolsScope: context["tools_scope"] === true,
          assigned: context["assigned"] === true,
          costMicro: typeof context["cost_micro"] === "number" ? context["cost_micro"] : 0,
          approval: false,
          ...(tool === undefined ? {} : { tool: { id: String(tool["id"]), decisionId: String(tool["decision_id"]) } }),
        },
        props: isObject(context["props"]) ? context["props"] : {},
        claimed: isObject(context["claimed"]) ? context["claimed"] : {},
        ui: {},
        supported: "all",
      });
      const [verdict] = verdicts;
      assert.ok(verdict);
      const got = {
        decision: verdict.decision,
        ...(given.expect.policies === undefined ? {} : { policies: verdict.policies }),
        ...(given.expect.obligations === undefined ? {} : { obligations: verdict.obligations.map(({ id }) => id) }),
        ...(given.expect.reason === undefined ? {} : { reason: verdict.reason }),
        ...(given.expect.requestable === undefined ? {} : { requestable: verdict.requestable }),
      };
      assert.deepEqual(got, given.expect);
    });
  }
}
