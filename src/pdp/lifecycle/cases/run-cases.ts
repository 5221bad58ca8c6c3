import { isDeepStrictEqual } from "node:util";
import { isObject } from "#contract/is-object.ts";
import { facts as factsSchema, type Facts } from "#contract/facts.ts";
import type { CaseResults } from "#contract/policies.ts";
import { createCedar } from "#pdp/decision/cedar.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import { bareResource, noFacts } from "#pdp/facts/no-facts.ts";
import type { Engine } from "#pdp/engine/engine.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import type { PolicyCase } from "#pdp/bundle/case.ts";

const merge = (base: unknown, over: unknown): unknown =>
  isObject(base) && isObject(over)
    ? Object.fromEntries(
        [...new Set([...Object.keys(base), ...Object.keys(over)])].map((key) => [
          key,
          Object.hasOwn(over, key) ? merge(base[key], over[key]) : base[key],
        ]),
      )
    : over;

/** The tenant that a case is about unless it says otherwise. */
const TENANT = "tenant:a";
const kinds: Readonly<Record<string, string>> = { person: "Person", agent: "AIAgent", service: "Service", account: "Account" };

const identity = (id: string) => ({
  id,
  kind: kinds[id.split(":")[0] ?? ""] ?? "Person",
  name: id,
  tenant_ids: id.startsWith("service:") ? [] : [TENANT],
  groups: [],
  disabled: false,
  mfa_level: null,
});

const factsOf = ({ given, ask }: PolicyCase): Facts =>
  factsSchema.parse(
    merge(
      {
        ...noFacts,
        subject: identity(given.subject),
        agent: given.agent === undefined ? null : { ...identity(given.agent), controllers: [], client_id: null },
        chain: true,
        definition_ok: true,
        resource: ask.id === "*" ? null : bareResource(ask.id, "Resource", [TENANT]),
      },
      given.facts,
    ),
  );

const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

const askOf = ({ given, ask }: PolicyCase): Ask => {
  const { context } = ask;
  const { acr, auth_time: authTime, tool, cost_micro: cost } = context;
  const { id, decision_id: decisionId } = objectOf(tool);
  // A service is in no tenant unless the case puts it into one.
  const isOfAll = given.subject.startsWith("service:") && objectOf(given.facts["subject"])["tenant_ids"] === undefined;
  return {
    pep: "service:crud",
    bound: "*",
    subject: { type: "identity", id: given.subject, tenant: isOfAll ? "*" : TENANT },
    agents: given.agent === undefined ? [] : [given.agent],
    action: ask.action,
    resource: { type: ask.type, id: ask.id },
    assurance: { ...(typeof acr === "string" ? { acr } : {}), ...(typeof authTime === "number" ? { authTime } : {}) },
    vouched: {
      could: context["could"] === true,
      toolsScope: context["tools_scope"] === true,
      assigned: context["assigned"] === true,
      costMicro: typeof cost === "number" ? cost : 0,
      approval: false,
      ...(tool === undefined ? {} : { tool: { id: String(id), decisionId: String(decisionId) } }),
    },
    props: objectOf(context["props"]),
    claimed: objectOf(context["claimed"]),
    ui: objectOf(context["ui"]),
    supported: "all",
  };
};

/** The members of the answer that the case expects something of. */
const gotOf = (verdict: Verdict, expect: PolicyCase["expect"]): Record<string, unknown> => ({
  decision: verdict.decision,
  ...(expect.policies === undefined ? {} : { policies: [...verdict.policies] }),
  ...(expect.obligations === undefined ? {} : { obligations: verdict.obligations.map(({ id }) => id) }),
  ...(expect.reason === undefined ? {} : { reason: verdict.reason ?? null }),
  ...(expect.requestable === undefined ? {} : { requestable: verdict.requestable }),
});

/** One case decided by the very code that decides in earnest; the earlier decision `d_permitted` alone is on record. */
const runCase = async (engine: Engine, given: PolicyCase): Promise<Record<string, unknown>> => {
  const decisionPoint = createCedar({
    engines: { current: () => ({ version: "cases", engine }) },
    facts: { gather: async (asks) => ({ graphVersion: 1, facts: asks.map(() => factsOf(given)) }), ready: async () => true },
    decisions: {
      resources: async () => new Map(),
      permittedCall: async (id) => (id === "d_permitted" ? { tenant: TENANT } : undefined),
    },
    metrics: createMetrics(),
    now: () => new Date(given.given.now),
  });
  const [verdict] = (await decisionPoint.evaluateMany([askOf(given)], "execute_all")).verdicts;
  if (verdict === undefined) throw new RangeError("one ask has one verdict");
  return gotOf(verdict, given.expect);
};

/** Runs cases in order. A case that cannot be decided (its facts are none) fails with what was wrong. */
export const runCases = async (engine: Engine, cases: readonly PolicyCase[]): Promise<CaseResults> => {
  const failed: CaseResults["failed"] = [];
  for (const one of cases) {
    const got = await runCase(engine, one).catch((error: unknown) => ({
      error: error instanceof Error ? error.message.slice(0, 500) : "failed",
    }));
    const wanted: Record<string, unknown> = { ...one.expect };
    const passes = Object.keys(wanted).every((name) => isDeepStrictEqual(wanted[name], (got as Record<string, unknown>)[name]));
    if (!passes) failed.push({ name: one.name, ...(one.file === undefined ? {} : { file: one.file }), expected: wanted, got });
  }
  return { passed: cases.length - failed.length, failed };
};
