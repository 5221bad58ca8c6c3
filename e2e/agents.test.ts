import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Agents } from "#contract/endpoint.ts";
import { portOffsets } from "#app/model/addresses.ts";
import { requestOf } from "#testing/probes/probe.ts";
import { probedEndpoints } from "#testing/probes/probes.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

/** One place at which an agent's token may be shown, at its service or through the gateway. */
interface Place {
  readonly name: string;
  readonly agents: Agents;
  readonly method: string;
  readonly port: number;
  readonly path: string;
  readonly body?: unknown;
}

const places = (): readonly Place[] => {
  const own = probedEndpoints.flatMap(({ name, endpoint, probe }): Place[] => {
    if (endpoint.agents === undefined) return [];
    const { path, body = endpoint.body === undefined ? undefined : {} } = requestOf(endpoint, probe.agent ?? {});
    const at = { name, agents: endpoint.agents, method: endpoint.method, port: portOffsets[endpoint.service], path };
    return [body === undefined ? at : { ...at, body }];
  });
  // What the gateway passes on by a token: all of the decision point's, and the tools.
  const through = own.flatMap((place): Place[] => {
    if (place.port === portOffsets.pdp) {
      // Evaluations and searches are asked by the gateway, for the two of them together.
      const isFacade = /^\/access\/v1\/(evaluation|evaluations|search\/)/.test(place.path);
      return ["/access/v1/", "/api/pdp/"].map((base) => ({
        ...place,
        port: 0,
        name: `${place.name} at ${base}`,
        path: place.path.replace("/access/v1/", base),
        ...(isFacade ? { agents: "decided" } : {}),
      }));
    }
    if (place.port === portOffsets.crud && place.path.startsWith("/mcp"))
      return [{ ...place, port: 0, name: `${place.name} at the gateway`, path: `/api/crud${place.path}` }];
    return [];
  });
  const streams = ["config", "workflow", "activity"].map((name): Place => {
    const path = `/events/${name}`;
    return { name: `stream ${name}`, agents: "never", method: "GET", port: portOffsets.crud, path };
  });
  return [...own, ...through, ...streams];
};

interface Reported {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

describe("an agent's token, at every place where one may come", () => {
  let instance: TestInstance;
  const tokens: Record<string, string> = {};
  before(async () => {
    instance = await startTestInstance();
    tokens["ben"] = await fetchToken(instance.port, { user: "ben" });
    tokens["hr"] = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });
    // Ben's delegation to the reporter has ended; the one to the other agent lives.
    tokens["reporter"] = await fetchToken(instance.port, { user: "ben", agent: "agent:reporter" });
  });
  after(async () => {
    await instance.stop();
  });

  const ask = async (holder: string, place: Place): Promise<Reported> => {
    const response = await fetch(`http://localhost:${instance.port + place.port}${place.path}`, {
      method: place.method,
      headers: {
        authorization: `Bearer ${tokens[holder] ?? ""}`,
        "idempotency-key": crypto.randomUUID(),
        ...(place.body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(place.body === undefined ? {} : { body: JSON.stringify(place.body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    const body = (text.startsWith("{") ? JSON.parse(text) : {}) as { code?: string; error?: { data?: { code?: string } } };
    return { status: response.status, code: body.code ?? body.error?.data?.code, text };
  };

  const isList = ({ name }: Place): boolean => /^list(View)?Tools/.test(name);
  const isQuestion = ({ name }: Place): boolean => name.startsWith("evaluate at");
  const namesOf = (text: string): readonly string[] => (JSON.parse(text) as { tools: { name: string }[] }).tools.map(({ name }) => name);
  const requireNothing = async (holder: string, place: Place): Promise<void> => {
    const { status, code } = await ask(holder, place);
    // The gateway's own two ask the decision point at the ingress, which refuses agents too.
    const codes =
      place.agents === "own" ? ["delegation_inactive"] : place.port === 0 ? ["person_required", "access_denied"] : ["person_required"];
    assert.deepEqual([status, codes.includes(code ?? "")], [403, true], `${holder} ${place.name}: ${status} ${code}`);
  };
  const requireLet = async (place: Place): Promise<void> => {
    const { status, code, text } = await ask("hr", place);
    assert.ok(status < 500 && !["person_required", "delegation_inactive"].includes(code ?? ""), `${place.name}: ${status} ${code}`);
    if (isList(place)) assert.ok(namesOf(text).includes("people.demo.list_employees"), place.name);
    if (isQuestion(place)) assert.match(text, /"decision":true/, place.name);
    if (/ToolRpc|toolRpc/.test(place.name)) assert.equal(code, undefined, `${place.name}: ${text}`);
  };
  /** Without a delegation what is decided comes to nothing: health alone is listed, no tool runs, no value leaves. */
  const requireDenied = async (holder: string, place: Place): Promise<void> => {
    const { status, code, text } = await ask(holder, place);
    if (isList(place)) assert.deepEqual([status, namesOf(text)], [200, ["system.health"]], `${holder} ${place.name}`);
    else if (isQuestion(place)) assert.match(text, /"decision":false/, `${holder} ${place.name}`);
    else assert.ok(code !== undefined && code !== "internal", `${holder} ${place.name}: ${status} ${text}`);
  };

  const all = places();
  const of = (agents: Agents): readonly Place[] => all.filter((place) => place.agents === agents);

  test("with a live delegation gets its own part and what is decided, and nothing that is the person's alone", async () => {
    assert.ok(of("never").length > 50 && of("own").length > 8 && of("decided").length > 8);
    for (const place of of("never")) await requireNothing("hr", place);
    for (const place of [...of("own"), ...of("decided")]) await requireLet(place);
  });

  test("with another agent's delegation only gets nothing", async () => {
    for (const place of [...of("never"), ...of("own")]) await requireNothing("reporter", place);
    for (const place of of("decided")) await requireDenied("reporter", place);
  });

  test("after revoke-many gets nothing any more, at once", async () => {
    const revoked = await fetch(`http://localhost:${instance.port + portOffsets.membership}/api/v1/delegations/revoke-many`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens["ben"] ?? ""}`, "content-type": "application/json", "idempotency-key": "all" },
      body: JSON.stringify({ agent_id: "agent:hr-assistant", mode: "revoke", reason: "It is over" }),
    });
    assert.equal(revoked.status, 200, await revoked.text());
    for (const place of [...of("own"), ...of("never")]) await requireNothing("hr", place);
    for (const place of of("decided")) await requireDenied("hr", place);
  });
});
