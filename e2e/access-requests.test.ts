import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import type { AccessRequestOffer, AccessRequestReply } from "#contract/access-requests.ts";
import type { EvaluationReply } from "#contract/authzen.ts";
import type { RpcResponse } from "#contract/json-rpc.ts";
import { createPglite } from "#store/pglite.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { connectMcp, resultOf } from "./mcp-client.ts";
import { awayKafka, makeDataFolder, startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const reportOf = statement<{ readonly type: string; readonly text: string }>(
  "test.told_of_access",
  `select type, concat_ws(' ', key, subject, data::text) as text from events.outbox
   where type like 'access_request.%' or type like 'authz.%' or type like 'decision.%'`,
);

interface Entity {
  readonly id: string;
  readonly type?: string;
}
type ToolOffer = AccessRequestOffer & {
  readonly endpoint: string;
  readonly evaluation_id: string;
  readonly subject: Entity;
  readonly action: { readonly name: string };
  readonly resource: Entity;
};

test("a page is opened to cleo by ada's approval, and one salary above the limit to ben, through the gateway", async () => {
  const data = await makeDataFolder();
  const instance = await startTestInstance({ data, environment: { LOG_LEVEL: "debug", ...awayKafka } });
  try {
    const { port, origin } = instance;
    const send = async <T>(path: string, token: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(new URL(path, origin), {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, body: (await response.json()) as T & { code?: string } };
    };
    const keyed = () => ({ "idempotency-key": randomUUID() });
    const [ada, cleo] = await Promise.all([fetchToken(port, { user: "ada" }), fetchToken(port, { user: "cleo" })]);

    // A page: denied, asked for, approved, and open at the next ask, with nothing of the approval in it.
    const question = { action: { name: "view" }, resource: { type: "pages", id: "operations" } };
    const view = async () => (await send<EvaluationReply>("/access/v1/evaluation", cleo, question)).body;
    const { decision, context } = await view();
    assert.deepEqual([decision, context?.reason], [false, "approval_required"]);
    const { expires_at, binding_token } = context?.access_request ?? { expires_at: "", binding_token: "" };
    const made = await send<AccessRequestReply>(
      "/access/v1/requests",
      cleo,
      {
        subject: { type: "identity", id: "person:cleo" },
        ...question,
        denial: { evaluation_id: context?.evaluation_id, expires_at, binding_token },
        justification: "I watch the nightly runs this week.",
      },
      keyed(),
    );
    assert.equal(made.status, 202, JSON.stringify(made.body));
    const { task } = made.body;
    assert.equal(made.headers.get("location"), task.status_endpoint);
    const inbox = await send<{ requests: { id: string }[] }>("/api/pdp/requests?as=approver&status=pending", ada);
    assert.deepEqual(
      inbox.body.requests.map(({ id }) => id),
      [task.id],
    );
    const own = await send(`${task.status_endpoint}/answer`, cleo, { outcome: "approve" });
    assert.deepEqual([own.status, own.body.code], [403, "access_denied"]);
    const answered = await send<AccessRequestReply>(`${task.status_endpoint}/answer`, ada, { outcome: "approve" });
    assert.equal(answered.status, 200, JSON.stringify(answered.body));
    assert.equal((await view()).decision, true);
    const seen = await send<AccessRequestReply>(task.status_endpoint, cleo);
    assert.equal(seen.body.result?.approval.state, "live");

    // A salary: the client of the tool server is told what to ask for.
    const ben = await fetchToken(port, { user: "ben", acr: "strong" });
    const setSalary = async (salary: number, id = "e1") => {
      const { body } = await send<RpcResponse>("/api/crud/mcp/jsonrpc", ben, {
        jsonrpc: "2.0",
        id: "1",
        method: "tools/call",
        params: { name: "people.demo.update_salary", arguments: { id, salary } },
      });
      return body;
    };
    const refused = await setSalary(160_000);
    assert.deepEqual([refused.error?.code, refused.error?.data?.code], [-32001, "approval_required"], JSON.stringify(refused));
    const offer = refused.error?.data?.["access_request"] as ToolOffer;
    assert.deepEqual([offer.template, offer.resource.type, offer.action.name], ["four-eyes", "employee", "update_salary"]);
    const client = await connectMcp(origin, ben, "legacy");
    const reported = resultOf(await client.callTool({ name: "people.demo.update_salary", arguments: { id: "e1", salary: 160_000 } }));
    assert.equal(reported.isError, true);
    assert.match(reported.text, /approval_required/);
    assert.match(reported.text, /\/access\/v1\/requests/);

    const asked = await send<AccessRequestReply>(
      offer.endpoint,
      ben,
      {
        subject: offer.subject,
        action: offer.action,
        resource: offer.resource,
        denial: { evaluation_id: offer.evaluation_id, expires_at: offer.expires_at, binding_token: offer.binding_token },
        justification: "The board decided on 160000 for e1.",
      },
      keyed(),
    );
    assert.equal(asked.status, 202, JSON.stringify(asked.body));
    assert.equal((await setSalary(160_000)).error?.data?.code, "approval_required", "asking permits nothing");
    // Whoever answers sees what would be done, in the words that the approval is bound to; so does who asked, and nobody else.
    const shown = {
      tool: { name: "people.demo.update_salary", title: "Change a salary" },
      cost_usd: 0.01,
      arguments: { id: "e1", salary: 160_000 },
      masked: [],
    };
    for (const token of [ada, ben])
      assert.deepEqual((await send<AccessRequestReply>(asked.body.task.status_endpoint, token)).body.task.call, shown);
    const toAnswer = await send<{ requests: object[] }>("/api/pdp/requests?as=approver&status=pending", ada);
    assert.deepEqual(
      toAnswer.body.requests.map((listed) => "call" in listed),
      [false],
    );
    assert.equal((await send(asked.body.task.status_endpoint, cleo)).status, 404);
    const granted = await send<AccessRequestReply>(`${asked.body.task.status_endpoint}/answer`, ada, { outcome: "approve" });
    assert.equal(granted.status, 200, JSON.stringify(granted.body));
    for (const [salary, id] of [
      [160_001, "e1"],
      [160_000, "e2"],
    ] as const) {
      assert.equal((await setSalary(salary, id)).error?.data?.code, "approval_required", `${salary} for ${id}`);
    }
    const done = resultOf(await client.callTool({ name: "people.demo.update_salary", arguments: { id: "e1", salary: 160_000 } }));
    assert.equal(done.isError, false, done.text);
    assert.equal((await setSalary(160_000)).error?.data?.code, "approval_required", "once");
    await client.close();
    const used = await send<AccessRequestReply>(asked.body.task.status_endpoint, ben);
    assert.equal(used.body.result?.approval.state, "used");

    // Neither what was logged nor what is told names anybody, or says what was asked with.
    assert.equal(await instance.stop(), 0);
    const database = await createPglite({ dataFolder: data, log: silentLog });
    const events = await database.run(reportOf);
    await database[Symbol.asyncDispose]();
    assert.deepEqual(
      ["access_request.created", "access_request.approved", "access_request.used", "authz.decision"].filter(
        (type) => !events.some((event) => event.type === type),
      ),
      [],
    );
    // The tool server's own protocol lines say who calls, by contract.
    const logged = instance
      .output()
      .split("\n")
      .filter((line) => !line.includes('"event":"mcp_'))
      .join("\n");
    for (const [place, text] of [
      ["log", logged],
      ["events", events.map((event) => event.text).join("\n")],
    ] as const) {
      for (const canary of ["person:cleo", "person:ben", "160000", "I watch the nightly runs"])
        assert.ok(
          !text.includes(canary),
          `${canary} in the ${place}: ${text.slice(Math.max(text.indexOf(canary) - 300, 0), text.indexOf(canary) + 40)}`,
        );
    }
  } finally {
    await instance.stop();
    await rm(data, { recursive: true, force: true });
  }
});
