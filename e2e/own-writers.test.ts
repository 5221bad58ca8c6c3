import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { endpointTable } from "#contract/endpoints.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { startOwnInstance } from "./own-instance.ts";
import { runScript } from "./run-script.ts";
import { makeDataFolder } from "./test-instance.ts";

/**
 * Every writer of membership under the shipped policies alone, tried by whoever should not have it: a member, somebody without a role, a
 * member's agent, a directory. Other tenants' ids go through the same endpoints in `endpoint-decisions.test.ts`.
 */

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What a member is told: `access_denied` unless said. */
  readonly reported?: string;
}

const ben = "person:oidc:ben-1";
const ada = "person:oidc:ada-1";
const any = { "if-match": "*" };
const make = { "if-none-match": "*" };
const once = { "idempotency-key": "attempt" };
const reason = "please";
const give = { agent_id: "agent:other", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Not theirs" };

/** What is there to be taken or changed, by what it is. */
interface Ground {
  readonly credential: string;
  readonly scimToken: string;
  readonly link: string;
  readonly limit: string;
  readonly delegation: string;
  readonly assignment: string;
}
const nobodys = "00000000-0000-4000-8000-000000000000";

const attemptsAt = ({ credential, scimToken, link, limit, delegation, assignment }: Ground): readonly Attempt[] => [
  // Roles, and what leads to them.
  { method: "PUT", path: `/edges/MEMBER_OF/${ben}/role:administrator`, body: {} },
  { method: "PUT", path: `/edges/MEMBER_OF/${ben}/role:security`, body: {} },
  { method: "PUT", path: `/edges/MEMBER_OF/${ben}/group:all`, body: {} },
  { method: "PUT", path: "/edges/MEMBER_OF/group:all/role:administrator", body: {} },
  { method: "DELETE", path: `/edges/MEMBER_OF/${ada}/role:administrator` },
  {
    method: "POST",
    path: "/graph/changes",
    body: { reason, changes: [{ op: "put_edge", edge: { kind: "MEMBER_OF", src: ben, dst: "role:administrator" } }] },
    headers: once,
  },
  {
    method: "POST",
    path: "/imports?reason=please",
    body: `${JSON.stringify({ edge: { kind: "MEMBER_OF", src: ben, dst: "role:administrator" } })}\n`,
    headers: { ...once, "content-type": "application/x-ndjson" },
  },
  {
    method: "POST",
    path: "/imports?reason=please&format=csv&csv=edges",
    body: `kind,src,dst\nMEMBER_OF,${ben},role:administrator\n`,
    headers: { ...once, "content-type": "text/csv" },
  },
  // Nodes.
  { method: "PUT", path: "/nodes/group:mine", body: { kind: "Group", name: "Mine" }, headers: make },
  { method: "PUT", path: "/nodes/agent:mine", body: { kind: "AIAgent", name: "Mine" }, headers: make },
  { method: "PUT", path: "/nodes/role:mine", body: { kind: "BusinessRole", name: "Mine" }, headers: make },
  { method: "PUT", path: `/nodes/${ada}`, body: { kind: "Person", name: "Not Ada" }, headers: any },
  { method: "PATCH", path: `/nodes/${ben}`, body: { name: "Ben the Great" }, headers: any },
  { method: "DELETE", path: `/nodes/${ada}?cascade=true`, headers: any },
  { method: "DELETE", path: "/nodes/role:administrator?cascade=true", headers: any },
  // Agents, what they may use, and who answers for them.
  { method: "PUT", path: `/edges/GRANTS_ACCESS/${ben}/mcp:acme.files`, body: {} },
  { method: "PUT", path: "/edges/HAS_CAPABILITY/agent:helper/tool:x", body: { props: { granted_by: ben } } },
  { method: "PUT", path: "/agent/agents/agent:other/control", body: { controller_id: ben } },
  { method: "DELETE", path: `/agent/agents/agent:other/control?controller_id=${ada}` },
  { method: "POST", path: "/agent/agents/agent:other/suspend", body: { reason } },
  { method: "POST", path: "/agent/agents/agent:other/resume", body: { reason } },
  { method: "POST", path: "/credentials", body: { client_id: "agent:other" } },
  { method: "POST", path: "/credentials", body: { client_id: "service:scim:tenant:acme", scopes: ["membership.write"] } },
  { method: "POST", path: `/credentials/${credential}/rotate`, body: {} },
  { method: "DELETE", path: `/credentials/${credential}?reason=please` },
  // Other ways into the graph.
  { method: "POST", path: "/scim-tokens", body: { name: "mine" } },
  { method: "DELETE", path: `/scim-tokens/${scimToken}` },
  { method: "POST", path: "/identity-links", body: { issuer: "https://idp.example", subject: "ben-2", person_id: ada, reason } },
  { method: "DELETE", path: `/identity-links/${link}?reason=please` },
  { method: "POST", path: "/sign-ins", body: { issuer: "https://idp.example", subject: "ben-2" }, reported: "insufficient_scope" },
  // Rules.
  { method: "PUT", path: "/budget-limits", body: { scope: "tenant", period: "daily", limit_usd: 1_000_000 } },
  { method: "DELETE", path: `/budget-limits/${limit}` },
  { method: "PUT", path: "/data-scope-rules/employee", body: { own_groups: ["group:all"] }, headers: make },
  { method: "DELETE", path: "/data-scope-rules/ledger", headers: any },
  { method: "POST", path: "/policy-bindings", body: { target_id: "mcp:acme.files", policy_id: "policy:none" }, headers: once },
  { method: "PUT", path: `/policy-bindings/${nobodys}`, body: {}, headers: any },
  { method: "DELETE", path: `/policy-bindings/${nobodys}`, headers: any },
  // The registry and who owns what.
  { method: "POST", path: "/mcp/services", body: { name: "mine", service_type: "external" } },
  { method: "DELETE", path: "/mcp/services/mcp:acme.files?force=true" },
  { method: "POST", path: "/mcp/services/mcp:acme.files/tools", body: { name: "read" } },
  { method: "POST", path: "/mcp/services/mcp:acme.files/resources", body: { uri: "file:///x" } },
  { method: "POST", path: "/mcp/services/mcp:acme.files/prompts", body: { name: "ask" } },
  { method: "DELETE", path: "/mcp/tools/acme.files.read" },
  { method: "POST", path: "/mcp/tools/retire", body: { tool_ids: ["acme.files.read"] } },
  { method: "POST", path: "/mcp/tools/affected", body: { tools: [{ tool_id: "acme.files.read", definition_digest: null }] } },
  { method: "POST", path: "/resources/mcp:acme.files/owners", body: { owner_identity_id: ben } },
  { method: "DELETE", path: `/resources/mcp:acme.files/owners/${ada}` },
  { method: "POST", path: "/rtrs/assign", body: { actor_label: "Person", actor_id: ben, resource_id: "mcp:acme.files", rtr: "x" } },
  { method: "DELETE", path: `/rtrs/assignments/${assignment}` },
  // Delegations of others, and their money.
  { method: "POST", path: "/delegations", body: give, headers: once },
  { method: "POST", path: "/delegations", body: { ...give, agent_id: "agent:helper", delegator_id: ada }, headers: once },
  { method: "POST", path: "/delegations/what-if", body: { ...give, agent_id: "agent:helper", delegator_id: ada } },
  { method: "PATCH", path: `/delegations/${delegation}`, body: { max_steps: 9 }, headers: any },
  { method: "POST", path: `/delegations/${delegation}/pause`, body: { reason } },
  { method: "POST", path: `/delegations/${delegation}/resume`, body: { reason }, headers: any },
  { method: "POST", path: `/delegations/${delegation}/revoke`, body: { reason } },
  { method: "POST", path: "/delegations/revoke-many", body: { delegator_id: ada, mode: "revoke", reason }, headers: once },
  {
    method: "POST",
    path: "/delegations/reservations",
    body: { call_id: "c", user_id: ben, agent_id: "agent:helper", tool_id: "x", usd: 0 },
    reported: "insufficient_scope",
  },
  {
    method: "POST",
    path: `/delegations/reservations/${nobodys}/settle`,
    body: { usd: 0, steps: 0, outcome: "ok" },
    reported: "insufficient_scope",
  },
  { method: "POST", path: `/delegations/reservations/${nobodys}/release`, reported: "insufficient_scope" },
  { method: "POST", path: `/delegations/reservations/${nobodys}/extend`, body: { ttl_s: 60 }, reported: "insufficient_scope" },
  // Questions that services post: the gateway has no way to them.
  { method: "POST", path: "/pip/membership/facts", body: { asks: [{ subject_id: ada, action: "view" }] }, reported: "not_found" },
  { method: "POST", path: "/pip/membership/facts-if", body: { asks: [{ subject_id: ada, action: "view" }] }, reported: "not_found" },
  { method: "POST", path: "/pip/membership/candidates", body: {}, reported: "not_found" },
  { method: "GET", path: "/export" },
];

test("without the demo a plain member, their agent, a stranger and a directory become no more than they are", async (t) => {
  const data = await makeDataFolder();
  cleanUp(t, () => rm(data, { recursive: true, force: true }));
  const port = await findFreePorts();
  const provider = await startForeignProvider([`http://localhost:${port}`]);
  cleanUp(t, () => provider.stop());
  const who = ["--issuer", provider.issuer, "--subject", "ada-1", "--tenant", "acme", "--name", "Ada"];
  assert.equal((await runScript("admin.ts", ["first", ...who, "--data", data])).code, 0);
  const { signIn, call, as, exchange } = await startOwnInstance(t, { port, data, provider });
  const admin = await signIn("ada-1");
  const member = await signIn("ben-1", { name: "Ben", groups: ["role:administrator", "administrators"] });
  const nobody = await signIn("zoe-1", { name: 'Zoe "\u202e" İ %_ 🦊' });
  const graph = as(admin);
  await graph("PUT", `/edges/MEMBER_OF/${ben}/role:member`, {});
  for (const role of ["role:security", "role:member"]) await graph("PUT", `/edges/MEMBER_OF/${ada}/${role}`, {});
  await graph("PUT", "/nodes/group:all", { kind: "Group", name: "All" }, make);
  for (const id of ["agent:helper", "agent:other"]) await graph("PUT", `/nodes/${id}`, { kind: "AIAgent", name: id }, make);
  await graph("PUT", "/agent/agents/agent:helper/control", { controller_id: ben });
  await graph("PUT", "/agent/agents/agent:other/control", { controller_id: ada });
  const { client_secret: secret } = await graph("POST", "/credentials", { client_id: "agent:helper" });
  const { token: scim, ...scimToken } = await graph("POST", "/scim-tokens", { name: "Directory" });
  await graph("POST", "/mcp/services", { name: "files", service_type: "external", owner_id: ada });
  await graph("POST", "/mcp/services/mcp:acme.files/tools", { name: "read" });
  await graph("PUT", "/data-scope-rules/ledger", { own_groups: ["group:all"] }, make);
  const ground: Ground = {
    credential: (await graph("POST", "/credentials", { client_id: "agent:other" })).credential_id,
    scimToken: scimToken.token_id,
    link: (await graph("GET", `/identity-links?person_id=${ben}`)).items[0].link_id,
    limit: (await graph("PUT", "/budget-limits", { scope: "tenant", period: "monthly", limit_usd: 100 })).limit_id,
    delegation: (await graph("POST", "/delegations", { ...give, capabilities: [] }, once)).delegation_id,
    assignment: nobodys,
  };
  const attempts = attemptsAt(ground);
  // A writer that is not tried here would be one that nobody held against the shipped policies.
  const untried = endpointTable
    .map(({ endpoint }) => endpoint)
    .filter(({ service, method }) => service === "membership" && method !== "GET")
    .filter(({ method, path }) => {
      const pattern = new RegExp(`^${path.replace("/api/v1", "").replaceAll(/\{\w+\}/g, "[^/]+")}(?:\\?.*)?$`);
      return !attempts.some((one) => one.method === method && pattern.test(one.path));
    })
    .map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(untried, []);

  const state = async () => JSON.stringify([await graph("GET", "/roles/holders"), await graph("GET", "/graph/version")]);
  const before = await state();
  /** What each attempt is answered with, where it is something else than `told` says. */
  const tryAll = async (
    headers: Readonly<Record<string, string>>,
    reported: (one: Attempt) => string,
    base = `http://localhost:${port}/api/membership`,
  ): Promise<readonly string[]> => {
    const wrong: string[] = [];
    for (const one of attempts) {
      const sent = one.body === undefined ? {} : { body: typeof one.body === "string" ? one.body : JSON.stringify(one.body) };
      const response = await fetch(`${base}${one.path}`, { method: one.method, headers: { ...headers, ...one.headers }, ...sent });
      const { status } = response;
      const body = (await response.json().catch(() => undefined)) as { code?: string; errors?: unknown } | undefined;
      if (body?.code !== reported(one))
        wrong.push(`${one.method} ${one.path}: ${status} ${String(body?.code)} ${JSON.stringify(body?.errors ?? "")}`);
    }
    return wrong;
  };
  const asPerson = ({ reported = "access_denied" }: Attempt): string => reported;
  assert.deepEqual(await tryAll(member.headers, asPerson), [], "a member");
  assert.deepEqual(await tryAll(nobody.headers, asPerson), [], "somebody without a role");
  // Sessions alone lead through the gateway; a token goes to the service itself.
  const { access_token: token } = await exchange("agent:helper", secret, "ben-1");
  assert.ok(token !== undefined);
  const bearer = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  assert.deepEqual(await tryAll(bearer, () => "person_required", `http://localhost:${port + 4}/api/v1`), [], "a member's agent");
  assert.equal(await state(), before, "nothing of it was written");

  // The directory's token opens its own endpoints alone, and knows nobody who did not come from it.
  const directory = { authorization: `Bearer ${scim}`, "content-type": "application/scim+json" };
  for (const [method, path, body, status] of [
    ["GET", `/scim/v2/Users/${ada}`, undefined, 404],
    ["GET", "/scim/v2/Users", undefined, 200],
    ["DELETE", "/scim/v2/Groups/role:administrator", undefined, 404],
    ["GET", "/api/membership/graph/version", undefined, 401],
    ["PUT", `/api/membership/edges/MEMBER_OF/${ben}/role:administrator`, {}, 401],
  ] as const) {
    const { status: said, body: reply } = await call(directory, method, path, body);
    assert.deepEqual([method, path, said], [method, path, status], JSON.stringify(reply));
    if (status === 200) assert.equal(reply.totalResults, 0);
  }
  assert.equal(await state(), before, "nor of that");
});
