import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { requestOf } from "#testing/probes/probe.ts";
import { probedEndpoints } from "#testing/probes/probes.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { startOwnInstance } from "./own-instance.ts";
import { runScript } from "./run-script.ts";
import { makeDataFolder } from "./test-instance.ts";

/**
 * Every writer of membership under the shipped policies alone, tried by whoever should not have it: a member, somebody without a role, a
 * member's agent, a directory. Other tenants' ids go through the same endpoints in `endpoint-decisions.test.ts`.
 */

const ben = "person:oidc:ben-1";
const ada = "person:oidc:ada-1";
const make = { "if-none-match": "*" };
const once = { "idempotency-key": "attempt" };
const give = { agent_id: "agent:other", capabilities: null, budget_usd: 1, max_steps: 1, purpose: "Not theirs" };

const nobodys = "00000000-0000-4000-8000-000000000000";

/** What is there to be taken or changed, by the mark that stands for it in an attempt. */
type Ground = Readonly<Record<"ben" | "ada" | "credential" | "scim_token" | "link" | "limit" | "delegation" | "assignment", string>>;

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
    ben,
    ada,
    credential: (await graph("POST", "/credentials", { client_id: "agent:other" })).credential_id,
    scim_token: scimToken.token_id,
    link: (await graph("GET", `/identity-links?person_id=${ben}`)).items[0].link_id,
    limit: (await graph("PUT", "/budget-limits", { scope: "tenant", period: "monthly", limit_usd: 100 })).limit_id,
    delegation: (await graph("POST", "/delegations", { ...give, capabilities: [] }, once)).delegation_id,
    assignment: nobodys,
  };
  const attempts = probedEndpoints.flatMap(({ endpoint, probe }) =>
    (probe.attempts ?? []).map((attempt) => ({
      method: endpoint.method,
      reported: attempt.reported ?? "access_denied",
      ...requestOf(endpoint, attempt, ground),
    })),
  );
  type Attempt = (typeof attempts)[number];

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
      const response = await fetch(`${base}${one.path.replace("/api/v1", "")}`, {
        method: one.method,
        headers: { ...headers, ...one.headers },
        ...sent,
      });
      const { status } = response;
      const body = (await response.json().catch(() => undefined)) as { code?: string; errors?: unknown } | undefined;
      if (body?.code !== reported(one))
        wrong.push(`${one.method} ${one.path}: ${status} ${String(body?.code)} ${JSON.stringify(body?.errors ?? "")}`);
    }
    return wrong;
  };
  const asPerson = ({ reported }: Attempt): string => reported;
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
