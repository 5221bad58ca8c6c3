import assert from "node:assert/strict";
import { test } from "node:test";
import { askAgain, readToolOffer } from "./access-requests.ts";
import { createClient } from "./client.ts";

const offer = {
  template: "four-eyes",
  expires_at: "2026-03-02T12:10:00.000Z",
  binding_token: "a.b.c",
  display: { title: "Set the salary of employee e1", message: "It needs the approval of a member of group:platform-admins." },
};

test("what a refused tool call offers becomes a request for exactly that act", () => {
  const act = {
    subject: { type: "identity", id: "person:ben" },
    action: { name: "update_salary" },
    resource: { type: "employee", id: "e1" },
  };
  const read = readToolOffer({ access_request: { ...offer, ...act, evaluation_id: "d_1", endpoint: "/access/v1/requests" } });
  assert.deepEqual(read?.denial, {
    ...act,
    denial: { evaluation_id: "d_1", expires_at: offer.expires_at, binding_token: offer.binding_token },
  });
});

for (const data of [{}, { access_request: null }, { access_request: offer }, { access_request: "yes" }])
  test(`a refusal with ${JSON.stringify(data).slice(0, 40)} offers nothing`, () => assert.equal(readToolOffer(data), undefined));

const askWith = async (answer: unknown) => {
  const sent: unknown[] = [];
  const client = createClient({
    origin: "http://page.test",
    newId: () => "id",
    peer: async (request) => {
      sent.push([new URL(request.url).pathname, await request.json()]);
      return Response.json(answer);
    },
  });
  return { found: await askAgain(client, "person:cleo", "view", { type: "pages", id: "operations" }), sent };
};

test("a question put again names no subject: the gateway says who asks", async () => {
  const { sent, found } = await askWith({ decision: true });
  assert.deepEqual(sent, [["/access/v1/evaluation", { action: { name: "view" }, resource: { type: "pages", id: "operations" } }]]);
  assert.deepEqual(found, { kind: "allowed" });
});

test("a fresh denial with an offer can be asked to be lifted; one without cannot", async () => {
  const { found } = await askWith({
    decision: false,
    context: { reason: "approval_required", evaluation_id: "d_2", access_request: offer },
  });
  assert.equal(found.kind === "requestable" ? found.requestable.denial.denial.evaluation_id : undefined, "d_2");
  assert.deepEqual((await askWith({ decision: false, context: { reason: "not_granted" } })).found, {
    kind: "denied",
    reason: "not_granted",
  });
});

for (const answer of [{ decision: "true" }, {}, { decision: 1 }])
  test(`an answer of ${JSON.stringify(answer)} is an error, not a yes`, async () => await assert.rejects(askWith(answer)));
