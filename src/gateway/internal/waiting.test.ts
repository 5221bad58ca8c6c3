import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeJwt } from "jose";
import type { Peer } from "#contract/ask.ts";
import { decidingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";

const database = sharedDatabase();

const someone = { id: "person:ben" };
const at = "2026-05-01T10:00:00.000Z";
const request = {
  id: "r",
  status: "pending",
  status_endpoint: "/access/v1/requests/r",
  expires_at: at,
  display: { title: "t", message: "m" },
  links: {},
  created_at: at,
  evaluation_id: "d",
  template: "t",
  subject: someone,
  action: { name: "use" },
  resource: { type: "secret" },
  approvers: [],
};
const version = { version: "v2+0123456789ab", state: "shadow", digest: "x", message: "m", created_by: "person:ada", created_at: at };
const delegation = {
  delegation_id: "delegation:d",
  delegator_id: "person:ben",
  agent_id: "agent:a",
  status: "active",
  exhausted: false,
  capabilities: null,
  constraints: {},
  budget_usd: 1,
  max_steps: 1,
  used_usd: 0,
  used_steps: 0,
  held_usd: 0,
  held_steps: 0,
  lent_usd: 0,
  lent_steps: 0,
  valid_from: at,
  expires_at: null,
  purpose: "p",
  created_by: "person:ben",
  created_at: at,
};
const waiting = (system: string, definitions: number) => ({ system, definitions, digest: "0".repeat(64) });

const summary = {
  pending: 9,
  mine: 3,
  awaiting_my_approval: 2,
  overdue: 1,
  due_today: 0,
  completed_7d: 4,
  by_kind: { approval: 9 },
  oldest_pending_at: at,
};

/** What each service lists, by path. */
const lists: Readonly<Record<string, unknown>> = {
  "/tasks/summary": summary,
  "/access/v1/requests": { requests: [request, request] },
  "/access/v1/policies/rollouts": { rollouts: [version] },
  "/config/definitions": { definitions: [], waiting: [waiting("a.one", 90), waiting("a.two", 30)] },
  "/api/v1/delegations": { items: [delegation] },
};

interface Case {
  readonly name: string;
  /** Pairs that the person has. */
  readonly permits: readonly string[];
  /** Paths that do not answer, by how. */
  readonly broken?: Readonly<Record<string, Response | Error>>;
  readonly counts: unknown;
}

const all = ["tasks/view_summary", "tasks/view_all", "policies/view_all", "policies/activate", "delegations/view_all"];
const cases: readonly Case[] = [
  { name: "all", permits: all, counts: { tasks: 3, requests: 2, definitions: 100, policies: 1, delegations: 1 } },
  { name: "nothing but what the service itself decides", permits: [], counts: { definitions: 100 } },
  {
    name: "no versions that the person could not activate",
    permits: all.filter((pair) => pair !== "policies/activate"),
    counts: { tasks: 3, requests: 2, definitions: 100, delegations: 1 },
  },
  {
    name: "what can be read, where a service refuses, fails, or answers what is no list",
    permits: all,
    broken: {
      "/config/definitions": Response.json({ code: "access_denied" }, { status: 403 }),
      "/api/v1/delegations": new Error("away"),
      "/access/v1/requests": Response.json({ requests: "many" }),
    },
    counts: { tasks: 3, policies: 1 },
  },
];

for (const { name, permits, broken = {}, counts } of cases)
  test(`what waits is counted: ${name}`, async (t) => {
    const pdp = decidingPeer((type, action) => permits.includes(`${type}/${action}`));
    const seen: { readonly path: string; readonly claims: Record<string, unknown> }[] = [];
    const lister: Peer = async (sent) => {
      const { pathname: path } = new URL(sent.url);
      seen.push({ path, claims: decodeJwt((sent.headers.get("authorization") ?? "").slice("Bearer ".length)) });
      const issue = broken[path];
      if (issue instanceof Error) throw issue;
      return issue ?? Response.json(lists[path]);
    };
    const peers = {
      pdp: (sent: Request) => (new URL(sent.url).pathname in lists ? lister(sent) : pdp.peer(sent)),
      crud: lister,
      membership: lister,
    };
    const made = await testGateway(t, { database: await database(), peers });
    const ben = await made.signIn("person:ben", { tenant: "tenant:acme" });
    const before = pdp.seen.length;
    const answered = await made.fetch("/api/v1/waiting", { headers: ben.cookie });
    assert.deepEqual([answered.status, await answered.json()], [200, counts]);
    const asked = pdp.seen.slice(before).map(({ body }) => JSON.parse(body) as { evaluations: { context: { showing?: boolean } }[] });
    assert.equal(asked.length, 1);
    assert.ok(asked[0]?.evaluations.every(({ context }) => context.showing === true));
    // Each service is asked in the person's name.
    assert.deepEqual(
      new Set(seen.map(({ claims }) => `${String(claims["sub"])} ${String(claims["tenant"])}`)),
      new Set(["person:ben tenant:acme"]),
    );
  });

test("nobody counts without a session, and nothing is counted while nothing can be decided", async (t) => {
  const made = await testGateway(t, {
    database: await database(),
    peers: { pdp: async () => Response.json({}, { status: 500 }), crud: async () => Response.json(lists["/config/definitions"]) },
  });
  assert.equal((await made.fetch("/api/v1/waiting")).status, 401);
  const ben = await made.signIn("person:ben");
  const answered = await made.fetch("/api/v1/waiting", { headers: ben.cookie });
  assert.deepEqual([answered.status, ((await answered.json()) as { code: string }).code], [503, "decision_unavailable"]);
});
