import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { startOwnHouse } from "./own-house.ts";
import { runScript } from "./run-script.ts";

/** Every writer of the graph under the shipped policies alone, tried by whoever should not have it. */

type Attempt = readonly [method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>];

const ben = "person:oidc:ben-1";
const ada = "person:oidc:ada-1";
const any = { "if-match": "*" };
const make = { "if-none-match": "*" };

/** What makes somebody more than they are, or another less, by each writer; ids are of this house. */
const attempts: readonly Attempt[] = [
  ["PUT", `/edges/MEMBER_OF/${ben}/role:administrator`, {}],
  ["PUT", `/edges/MEMBER_OF/${ben}/role:security`, {}],
  ["PUT", `/edges/MEMBER_OF/${ben}/group:all`, {}],
  ["PUT", `/edges/MEMBER_OF/group:all/role:administrator`, {}],
  ["PUT", `/edges/GRANTS_ACCESS/${ben}/${ben}`, {}],
  ["PUT", `/edges/HAS_CAPABILITY/agent:helper/tool:x`, { props: { granted_by: ben } }],
  ["PUT", `/edges/CONTROLLED_BY/agent:other/${ben}`, { props: { level: "primary" } }],
  ["PUT", `/edges/BELONGS_TO/${ben}/tenant:other`, {}],
  ["DELETE", `/edges/MEMBER_OF/${ada}/role:administrator`],
  ["PUT", "/nodes/group:mine", { kind: "Group", name: "Mine" }, make],
  ["PUT", "/nodes/tenant:mine", { kind: "Tenant", name: "Mine" }, make],
  ["PUT", "/nodes/agent:mine", { kind: "AIAgent", name: "Mine" }, make],
  ["PUT", "/nodes/role:mine", { kind: "BusinessRole", name: "Mine" }, make],
  ["PUT", `/nodes/${ada}`, { kind: "Person", name: "Not Ada" }, any],
  ["PUT", `/nodes/${ben}`, { kind: "Person", name: "Ben the Great", props: { roles: ["administrator"] } }, any],
  ["PUT", `/nodes/role:administrator`, { kind: "BusinessRole", name: "Everybody" }, any],
  ["DELETE", `/nodes/${ada}`, undefined, any],
  ["DELETE", "/nodes/role:administrator", undefined, any],
  [
    "POST",
    "/graph/changes",
    { reason: "please", changes: [{ op: "put_edge", edge: { kind: "MEMBER_OF", src: ben, dst: "role:administrator" } }] },
    { "idempotency-key": "changes" },
  ],
  [
    "POST",
    "/imports?reason=please",
    `{"kind":"MEMBER_OF","src":"${ben}","dst":"role:administrator"}\n`,
    { "content-type": "application/x-ndjson" },
  ],
  ["PUT", "/agent/agents/agent:other/control", { controller_id: ben }],
  ["POST", "/credentials", { client_id: "agent:other" }],
  ["POST", "/credentials", { client_id: "service:scim:tenant:acme", scopes: ["membership.write"] }],
  ["POST", "/scim-tokens", { name: "mine" }],
  ["POST", "/identity-links", { issuer: "https://idp.example", subject: "ben-2", person_id: ada, reason: "please" }],
  ["PUT", "/budget-limits", { scope: "tenant", period: "daily", limit_usd: 1_000_000 }],
  ["PUT", "/data-scope-rules/employee", { own_groups: ["group:all"] }, make],
  ["POST", "/policy-bindings", { target_id: "tool:x", policy_id: "policy:none" }],
  ["POST", "/mcp/services", { name: "mine", service_type: "external" }],
  [
    "POST",
    "/delegations",
    { agent_id: "agent:other", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Not mine" },
    { "idempotency-key": "k" },
  ],
  [
    "POST",
    "/delegations",
    { delegator_id: ada, agent_id: "agent:helper", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Hers" },
    { "idempotency-key": "k" },
  ],
  ["POST", "/delegations/reservations", { call_id: "c", user_id: ben, agent_id: "agent:helper", tool_id: "x", usd: 0 }],
  ["GET", "/export"],
];

test("without the demo a plain member, their agent, a stranger and a directory become no more than they are", async (t) => {
  const data = await mkdtemp(join(tmpdir(), "sallyport-own-"));
  cleanUp(t, () => rm(data, { recursive: true, force: true }));
  const port = await findFreePorts();
  const provider = await startForeignProvider([`http://localhost:${port}`]);
  cleanUp(t, () => provider.stop());
  const who = ["--issuer", provider.issuer, "--subject", "ada-1", "--tenant", "acme", "--name", "Ada"];
  assert.equal((await runScript("admin.ts", ["first", ...who, "--data", data])).code, 0);
  const { signIn, call, as, exchange } = await startOwnHouse(t, { port, data, provider });
  const admin = await signIn("ada-1");
  const member = await signIn("ben-1", { name: "Ben", groups: ["role:administrator", "administrators"] });
  const nobody = await signIn("zoe-1", { name: 'Zoe "\u202e" İ %_ 🦊' });
  const graph = as(admin);
  await graph("PUT", `/edges/MEMBER_OF/${ben}/role:member`, {});
  await graph("PUT", "/nodes/group:all", { kind: "Group", name: "All" }, make);
  for (const id of ["agent:helper", "agent:other"]) await graph("PUT", `/nodes/${id}`, { kind: "AIAgent", name: id }, make);
  await graph("PUT", "/agent/agents/agent:helper/control", { controller_id: ben });
  const { client_secret: secret } = await graph("POST", "/credentials", { client_id: "agent:helper" });
  const { token: scim } = await graph("POST", "/scim-tokens", { name: "Directory" });
  const holders = async () => JSON.stringify((await graph("GET", "/roles/holders")).holders);
  const version = async () => (await graph("GET", "/graph/version")).version;
  const [held, before] = [await holders(), await version()];

  const wrong: string[] = [];
  const tryAll = async (name: string, headers: Readonly<Record<string, string>>, base: (path: string) => string): Promise<void> => {
    for (const [method, path, body, more] of attempts) {
      const { status, body: said } = await call({ ...headers, ...more }, method, base(path), body);
      // Refused as what it is: 404 for what is not theirs to know of; never done, never a fault of the house.
      if (status < 400 || status >= 500 || status === 422 || status === 400)
        wrong.push(`${name} ${method} ${path}: ${status} ${String(said?.code)} ${JSON.stringify(said?.errors ?? "")}`);
    }
  };
  await tryAll("a member", member.headers, (path) => `/api/membership${path}`);
  await tryAll("somebody without a role", nobody.headers, (path) => `/api/membership${path}`);
  const { access_token: token } = await exchange("agent:helper", secret, "ben-1");
  assert.ok(token !== undefined);
  const bearer = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  await tryAll("an agent", bearer, (path) => `/api/membership${path}`);
  assert.deepEqual(wrong, []);
  assert.deepEqual([await holders(), await version()], [held, before], "nothing of it was written");

  // The directory's token opens its own door alone, and knows nobody who did not come from it.
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
  assert.deepEqual([await holders(), await version()], [held, before], "nor of that");

  await graph("PUT", `/edges/MEMBER_OF/${ada}/role:security`, {});
  // The same ways are open to who may: nothing above was refused because there is no such way.
  for (const [method, path, body, more] of attempts.filter(([, path]) => !path.includes(ada) && !/^\/(?:delegations|export)/.test(path))) {
    const { status, body: said } = await call({ ...admin.headers, ...more }, method, `/api/membership${path}`, body);
    const isOpen =
      status < 300 ||
      status === 422 ||
      status === 409 ||
      (path === "/credentials" && status === 404) ||
      path.includes("role:administrator");
    assert.ok(isOpen, `${method} ${path} ${status} ${JSON.stringify(said)}`);
  }
});
