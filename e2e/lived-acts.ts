import assert from "node:assert/strict";
import { appendFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { demoPassword } from "#demo/sign-ins.ts";
import { formBrowser } from "#testing/form-browser.ts";
import { administer, policyText } from "#testing/rollout.ts";
import { serverUpstream } from "#testing/http-upstream.ts";
import { demoCode } from "#testing/sign-in.ts";
import { until } from "#testing/until.ts";
import type { TestContext } from "node:test";
import { sessionOf } from "./sign-in.ts";
import { liveWorkflows } from "./lived-workflows.ts";
import type { TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

/** Settings of an instance whose persons' tokens are renewed at each request, and whose delegations end soon after their time. */
export const livedSettings = {
  REFRESH_AHEAD_S: "3600",
  DELEGATION_SWEEP_MS: "200",
};

const offsets = { gateway: 0, pdp: 2, crud: 3, membership: 4 } as const;

/**
 * One act of each sort that takes more than a story: policies, kill switches, limits, routes, definitions, the life of a delegation and of
 * a session, a call of which nobody can tell what came of it. For an instance with the demo and `livedSettings`, on a copy of the configuration
 * folder that holds this routes file.
 */
export const liveOtherActs = async (t: TestContext, { port, origin }: TestInstance, routesFile: string): Promise<void> => {
  const strong = await fetchToken(port, { user: "ada", acr: "strong" });
  const ben = await fetchToken(port, { user: "ben" });
  const send =
    (token: string) =>
    async (at: keyof typeof offsets, method: string, path: string, body?: unknown, more: Record<string, string> = {}) =>
      fetch(`http://localhost:${port + offsets[at]}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": typeof body === "string" ? "application/yaml" : "application/json",
          ...more,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
  // oxlint-disable-next-line typescript/no-explicit-any
  const done = async (response: Response | Promise<Response>): Promise<any> => {
    const text = await (await response).text();
    assert.ok((await response).ok, text);
    return text === "" ? undefined : JSON.parse(text);
  };
  const asAda = send(strong);
  const asBen = send(ben);

  // Policies: two drafts, of which one goes; the other decides in the shadow, not at all, and then for a moment.
  const admin = administer({
    personToken: async () => strong,
    ask: (path: string, token: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
      send(token)("pdp", body === undefined ? "GET" : "POST", path, body, { ...headers }),
  } as Parameters<typeof administer>[0]);
  const tells = {
    "policies/pages.cedar": `${policyText("pages.cedar")}
@id("told-of-operations")
@description("Whoever looks at the operations page is told of it")
@obligation("notify")
permit (principal in BusinessRole::"role:administrator", action == Action::"pages:view", resource == Page::"operations");
`,
  };
  const dropped = await admin.draft({ "policies/pages.cedar": `${policyText("pages.cedar")}\n// Nothing else.\n` });
  await done(asAda("pdp", "DELETE", `/access/v1/policies/rollouts/${encodeURIComponent(dropped.rollout.version)}`));
  const { rollout } = await admin.draft(tells, "Tell of the operations page");
  await admin.shadow(rollout.version);
  await done(admin.call(`${admin.version(rollout.version)}/promote`, { to: "draft" }));
  await admin.activate(rollout.version);
  const look = { action: { name: "view" }, resource: { type: "pages", id: "operations" } };
  assert.equal((await done(asAda("gateway", "POST", "/access/v1/evaluation", look))).decision, true);
  await admin.rollBack();

  await done(asAda("crud", "PUT", "/config/kill-switches/tool:people.demo.get_employee", { reason: "for a moment" }));
  await done(asAda("crud", "DELETE", "/config/kill-switches/tool:people.demo.get_employee"));
  await done(asAda("membership", "PUT", "/api/v1/budget-limits", { scope: "tenant", period: "daily", limit_usd: 1000 }));
  await appendFile(routesFile, "# One more line.\n");
  await done(asAda("gateway", "POST", "/api/v1/routes/reload"));

  // A system's file that does not load, and is taken away again.
  const broken = join(dirname(routesFile), "systems", "broken.one.yaml");
  await writeFile(broken, "tenants: [tenant:acme]\nnonsense: 1\n");
  await done(asAda("crud", "POST", "/config/reload"));
  await rm(broken);
  await done(asAda("crud", "POST", "/config/reload"));

  // Somebody else's server: its definition is rejected and approved.
  const definition = (await done(asAda("crud", "GET", "/config/definitions"))).definitions.find(
    ({ tool }: { tool: string }) => tool === "memory.demo.read_graph",
  );
  await done(asAda("crud", "POST", `/config/definitions/${definition.tool}/reject`, { reason: "look again" }));
  await done(
    asAda("crud", "POST", `/config/definitions/${definition.tool}/approve`, { digest: definition.served_digest, reason: "looked" }),
  );

  // A server that loses its answer: nobody can tell whether it was done.
  const upstream = await serverUpstream(t);
  upstream.answer = (_request, response) => void response.writeHead(502).end();
  const tool = "lost.letter.send";
  await done(
    asAda(
      "crud",
      "POST",
      "/config/systems",
      `apiVersion: systems/v1
provider: lost
instance: letter
title: Letters
owner: person:ada
tenants: [tenant:acme]
kind: http
baseUrl: ${upstream.url}
network: { allow: [127.0.0.1/32] }
defaults: { dataScope: none }
operations:
  send:
    description: Sends a letter.
    request: { method: POST, path: /letters }
`,
    ),
  );
  await done(asAda("membership", "PUT", `/api/v1/edges/GRANTS_ACCESS/person:ada/${tool}`, {}));
  const lost = await until(
    () => done(asAda("crud", "POST", "/execute", { tool, arguments: {} })).catch((error: unknown) => ({ error })),
    (answer) => answer.error?.code === "outcome_unknown",
  );
  assert.equal(lost.success, false);

  // The life of a delegation, and one that ends by itself.
  const draft = {
    agent_id: "agent:hr-assistant",
    capabilities: ["people.demo.get_employee"],
    budget_usd: 1,
    max_steps: 10,
    purpose: "Look somebody up",
  };
  const give = (more: object) =>
    done(asBen("membership", "POST", "/api/v1/delegations", { ...draft, ...more }, { "idempotency-key": crypto.randomUUID() }));
  const { delegation_id: id } = await give({});
  const path = `/api/v1/delegations/${id}`;
  const change = (patch: object) => done(asBen("membership", "PATCH", path, patch, { "if-match": "*" }));
  await change({ budget_usd: 0.5 });
  await change({ budget_usd: 1 });
  await done(asBen("membership", "POST", `${path}/pause`, { reason: "a break" }));
  await done(asBen("membership", "POST", `${path}/resume`, { reason: "back" }, { "if-match": "*" }));
  // One that its first call uses up, for what ends soonest pays; and one that ends by itself.
  await give({ max_steps: 1, expires_at: new Date(Date.now() + 60_000).toISOString() });
  const agent = await fetchToken(port, { user: "ben", agent: "agent:hr-assistant" });
  const called = await done(send(agent)("crud", "POST", "/execute", { tool: "people.demo.get_employee", arguments: { id: "e1" } }));
  assert.equal(called.success, true, JSON.stringify(called));
  const ending = await give({ expires_at: new Date(Date.now() + 3_000).toISOString() });

  const sends =
    (as: ReturnType<typeof send>): Parameters<typeof liveWorkflows>[0] =>
    (...request) =>
      done(as(...request));
  await liveWorkflows(sends(asAda), sends(send(await fetchToken(port, { user: "cleo" }))));

  // An agent is switched off and on; a file of nodes comes in. The system above has told of the registry.
  for (const act of ["suspend", "resume"])
    await done(asAda("membership", "POST", `/api/v1/agent/agents/agent:reporter/${act}`, { reason: "look at it" }));
  await done(
    asAda(
      "membership",
      "POST",
      "/api/v1/imports?reason=story",
      `${JSON.stringify({ node: { id: "group:story", kind: "Group", name: "Story" } })}\n`,
      {
        "idempotency-key": crypto.randomUUID(),
        "content-type": "application/x-ndjson",
      },
    ),
  );

  // A session: its tokens are renewed as it is used, it is stepped up, and somebody does not get in.
  const browser = formBrowser();
  const enter = async (query: string): Promise<void> => {
    const page = await browser.open(`${origin}/auth/login${query}`);
    const asked = await browser.submit(
      page,
      { login: "ben", password: demoPassword },
      (url) => url.origin === origin && url.pathname === "/",
    );
    if (!asked.stopped) await browser.submit(asked, { code: demoCode() }, (url) => url.origin === origin && url.pathname === "/");
  };
  const session = async () => {
    const [name, value] = [...browser.cookies].find(([cookie]) => cookie.includes("_sid_")) ?? [];
    return sessionOf(origin, `${name}=${value}`);
  };
  await enter("");
  assert.equal((await fetch(`${origin}/api/crud/configs/ui`, { headers: (await session()).headers })).status, 200);
  await enter("?acr_values=strong&max_age=300");
  const begun = await browser.open(`${origin}/auth/login`, (url) => url.origin !== origin);
  const failed = new URL(`${origin}/auth/callback`);
  failed.searchParams.set("error", "access_denied");
  failed.searchParams.set("state", begun.url.searchParams.get("state") ?? "");
  failed.searchParams.set("iss", begun.url.origin);
  await browser.open(failed.href);

  await until(
    () => done(asBen("membership", "GET", `/api/v1/delegations/${ending.delegation_id}`)),
    ({ status }) => status === "expired",
  );
};
