import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import type { ServiceName } from "#contract/endpoint.ts";
import { crudInstance } from "#testing/crud-instance.ts";
import { placesOf, put, sampleOf, samples, schemaOf, type Json, type Schema } from "#testing/contract-samples.ts";
import { testDatabase } from "#testing/database.ts";
import { decidingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { pdpWorld } from "#testing/pdp.ts";
import { testSecrets } from "#testing/secrets.ts";

const gatewayDatabase = sharedDatabase();

/** Well-formed for JSON, a URL or RFC 3339, and more than a column, a driver or a calendar holds. */
const dates = [
  "2026-01-01T00:00:00-16:00",
  "2026-01-01T00:00:00+23:59",
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00+15:59",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999999-23:59",
  `2026-01-01T00:00:00.${"1".repeat(200)}Z`,
  "2026-12-31T23:59:60Z",
  "infinity",
  "294277-01-01T00:00:00Z",
  "+275760-09-13T00:00:00Z",
];
const texts = [
  "\0",
  "a\0b",
  "\ud800",
  "a\udfffb",
  "x".repeat(3000),
  "x".repeat(20_000),
  "\u{1f984}".repeat(800),
  "%",
  "\\",
  "'",
  "{}",
  "[]",
];
const numbers = [-1, 0, 1.5, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 2 ** 63, 1e21, 1e300, -(2 ** 63), 1e-9, -0];
const numerals = [
  ...numbers.map(String),
  "9223372036854775807",
  "9223372036854775808",
  "99999999999999999999",
  "1e400",
  "NaN",
  "Infinity",
  "0x10",
  "",
];

const valuesFor = ({ type, format }: Schema): readonly unknown[] => {
  if (type === "number" || type === "integer") return numbers;
  if (format === "date-time") return dates;
  return type === "object" || type === "array" || type === "boolean" ? [] : [...texts, ...dates, ...numbers];
};

type Send = (row: EndpointRow, path: string, body: string | undefined) => Promise<Response>;

const pathOf = ({ endpoint }: EndpointRow): string =>
  endpoint.path
    .replace("{version}", "v1+0123456789ab")
    .replace("decisions/{id}", "decisions/d_01KB0000000000000000000001")
    .replace("delegations/{id}", "delegations/delegation:ben-hr")
    .replace("edges/{kind}/{src}/{dst}", "edges/MEMBER_OF/person:ben/group:hr")
    .replaceAll(/\{[^}]+\}/g, "00000000-0000-4000-8000-000000000000");

/** Every value of every parameter and member of a service's endpoints is taken or refused; none is the service's own fault. */
const walk = async (service: ServiceName, send: Send): Promise<void> => {
  const table = endpointTable.filter(({ endpoint }) => endpoint.service === service);
  assert.ok(table.length > 0);
  const issues: string[] = [];
  const refused: string[] = [];
  for (const row of table) {
    const { endpoint } = row;
    const ask = async (about: string, path: string, body?: unknown): Promise<void> => {
      const response = await send(row, path, body === undefined ? undefined : JSON.stringify(body));
      await response.body?.cancel();
      if (response.status >= 500 && response.status !== 501) issues.push(`${row.name} ${about}: ${response.status}`);
    };
    const query = endpoint.query === undefined ? {} : schemaOf(endpoint.query);
    const body = endpoint.body === undefined || endpoint.method === "GET" ? undefined : schemaOf(endpoint.body);
    const least = body === undefined ? undefined : (samples[row.name] ?? sampleOf(body, ""));
    const asked = (body === undefined ? samples[row.name] : undefined) ?? (sampleOf({ ...query, type: "object" }, "") as Json);
    const pathWith = (name?: string, value = ""): string => {
      const search = Object.entries(asked)
        .filter(([other]) => other !== name)
        .map(([other, sample]) => `${other}=${encodeURIComponent(String(sample))}`);
      const all = name === undefined ? search : [...search, `${name}=${value}`];
      return all.length === 0 ? pathOf(row) : `${pathOf(row)}?${all.join("&")}`;
    };
    const plain = (await send(row, pathWith(), least === undefined ? undefined : JSON.stringify(least))).status;
    if (plain === 400 || plain === 422) refused.push(row.name);
    for (const name of Object.keys(query.properties ?? {}))
      for (const value of [
        ...texts.map((text) => encodeURIComponent(text.toWellFormed())),
        "%ED%A0%80",
        "%00",
        ...dates.map(encodeURIComponent),
        ...numerals,
      ])
        await ask(`?${name}=${value.slice(0, 60)}`, pathWith(name, value), least);
    for (const { path, schema } of body === undefined ? [] : placesOf(body))
      for (const value of valuesFor(schema))
        await ask(`/${path.join("/")} ${JSON.stringify(value).slice(0, 60)}`, pathWith(), put(least, path, value));
    for (const part of ["%00", "a%00b", "%ED%A0%80", "x".repeat(3000), "%F0%9F%A6%84", "-1", "99999999999999999999"])
      if (endpoint.path.includes("{")) await ask(`{} ${part.slice(0, 20)}`, endpoint.path.replaceAll(/\{[^}]+\}/g, part), least);
  }
  assert.deepEqual(issues, []);
  // What stands around the value is right, so that it comes as far as it can; a denial's binding alone cannot be made up.
  assert.deepEqual(
    refused.filter((name) => name !== "createAccessRequest"),
    [],
  );
};

const keyed = { "idempotency-key": "k1", "if-match": '"1"' };

test("membership takes or refuses every value", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  await walk("membership", async ({ endpoint }, path, body) => {
    const scopes = [...(endpoint.scope ?? [])];
    const as = scopes.some((scope) => scope !== "membership.read" && !/delegate|write/.test(scope)) ? "service:crud" : "ben";
    const { status } = await world.call(as, endpoint.method, path, {
      ...(body === undefined ? {} : { body }),
      headers: { ...keyed, "idempotency-key": crypto.randomUUID() },
      scopes,
      asText: true,
    });
    return new Response(null, { status: status === 204 ? 204 : status });
  });
});

test("the decision point takes or refuses every value", async (t) => {
  const world = await pdpWorld(t);
  const person = await world.personToken("ada", { acr: "strong" });
  const service = await world.identity.tokenFor({
    sub: "service:pep",
    tenant: "*",
    scopes: ["authzen.pep", "authzen.search", "pdp.decisions.read"],
    clientId: "service:pep",
  });
  await walk("pdp", ({ endpoint }, path, body) => {
    const token = endpoint.scope?.some((scope) => scope.startsWith("authzen.")) === true ? service : person;
    const headers = { ...keyed, authorization: `Bearer ${token}`, "content-type": "application/json" };
    const request = new Request(`http://localhost:8082${path}`, {
      method: endpoint.method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    return world.service.fetch(request);
  });
});

test("the tool server takes or refuses every value", async (t) => {
  const instance = await crudInstance(t);
  await walk("crud", ({ endpoint }, path, body) =>
    instance.request(path, {
      method: endpoint.method,
      ...(body === undefined ? {} : { raw: body, headers: { "content-type": "application/json" } }),
    }),
  );
});

test("secrets take or refuse every value", async (t) => {
  const world = await testSecrets(t);
  const ada = {
    sub: "person:ada",
    tenant: "tenant:acme",
    scopes: ["read", "write", "delete", "destroy", "rotate", "read_metadata", "set_owner"].map((name) => `secrets.${name}`),
  };
  await walk("secrets", ({ endpoint }, path, raw) => world.send(ada, endpoint.method, path, raw === undefined ? {} : { raw }));
});

test("the gateway's own endpoints take or refuse every value", async (t) => {
  const made = await testGateway(t, { database: await gatewayDatabase(), peers: { pdp: decidingPeer(() => true).peer } });
  const ada = await made.signIn("person:ada");
  await walk("gateway", ({ endpoint }, path, body) =>
    made.fetch(path, {
      method: endpoint.method,
      headers: { ...ada.headers, "content-type": "application/json", ...keyed },
      ...(body === undefined ? {} : { body }),
    }),
  );
});
