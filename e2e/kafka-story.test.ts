import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { AnySchema } from "ajv";
import { formsOf } from "#testing/canary.ts";
import { eventTypes } from "#contract/event-types.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { cloudEventOf, requireValid } from "#testing/kafka/cloud-events.ts";
import { startMockBroker } from "#testing/kafka/kafka-broker.ts";
import { startKvDouble } from "#testing/kv-double.ts";
import { requireProgram } from "#testing/programs.ts";
import { until } from "#testing/until.ts";
import { signInPerson } from "./sign-in.ts";
import { livedSettings, liveOtherActs } from "./lived-acts.ts";
import { liveTheStory } from "./story.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

test("what an instance lives through is read off Kafka by a consumer of another make, each as its served schema says, with nothing that is secret", async (t) => {
  const library = requireProgram(t, "confluent-kafka");
  if (library === undefined) return;
  const broker = await startMockBroker(t, dirname(dirname(library)));
  const store = await startKvDouble(t, "openbao");
  const folder = await mkdtemp(join(tmpdir(), "sallyport-config-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const routesFile = join(folder, "routes.yaml");
  const config = join(import.meta.dirname, "../config");
  await cp(config, folder, { recursive: true });
  const instance = await startTestInstance({
    arguments: ["--config", folder],
    environment: {
      KAFKA_BROKERS: broker.address,
      KAFKA_TLS: "false",
      KAFKA_IDEMPOTENT: "false",
      ...livedSettings,
      PDP_CONFIG_FILE: join(config, "pdp.yaml"),
      VAULTA_URL: store.url,
      VAULTA_TOKEN: store.rootToken,
      TENANT_ALLOWED_MOUNTS: '{"tenant:acme":["yaml://secret","vaultA+kv2://kv-a"]}',
      TENANT_SALT: "0123456789abcdef0123456789abcdef",
    },
  });
  cleanUp(t, () => instance.stop());
  await liveTheStory(instance.port);
  await liveOtherActs(t, instance, routesFile);

  const strong = await fetchToken(instance.port, { user: "ada", acr: "strong" });
  const ada = { headers: { authorization: `Bearer ${strong}`, "content-type": "application/json" } };
  const send = async (who: { readonly headers: Readonly<Record<string, string>> }, method: string, path: string, body?: unknown) => {
    const at = path.startsWith("/config/") ? 3 : 5;
    const response = await fetch(`http://localhost:${instance.port + ("cookie" in who ? 0 : at)}${path}`, {
      method,
      headers: { ...who.headers, "x-purpose": "canary of a purpose" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const secret = (method: string, path: string, body?: unknown) => send(ada, method, `/api/secrets${path}`, body);
  const uri = "vaultA+kv2://kv-a/canary-path/one";
  for (const [method, path, body] of [
    ["POST", "", { uri, value: { k: "canary-value" } }],
    ["GET", `/value?uri=${encodeURIComponent(uri)}`],
    ["POST", "/rotate", { uri, value: { k: "canary-value-2" } }],
    ["POST", "/copy", { fromUri: uri, toUri: `${uri}-copy` }],
    ["POST", "/move", { fromUri: `${uri}-copy`, toUri: "yaml://secret/canary-path/moved" }],
    ["DELETE", `?uri=${encodeURIComponent(uri)}`],
    ["POST", "/undelete", { uri, versions: [2] }],
    ["POST", "/destroy-versions", { uri, versions: [1] }],
    ["DELETE", `?uri=${encodeURIComponent("yaml://secret/canary-path/moved")}`],
  ] as const) {
    const { status, body: said } = await secret(method, path, body);
    assert.ok(status < 300, `${method} ${path} ${status} ${JSON.stringify(said)}`);
  }
  const cleo = await signInPerson(instance.origin, "cleo");
  assert.equal((await send(cleo, "GET", `/api/secrets/value?uri=${encodeURIComponent(uri)}`)).status, 403);
  const tools = await send(ada, "GET", "/config/systems/people.demo");
  const system = { ...(tools.body["document"] as object), provider: "story", instance: "one", tenants: ["tenant:acme"] };
  for (const title of ["Story", "Story again"]) {
    const { status, body } = await send(
      ada,
      title === "Story" ? "POST" : "PUT",
      `/config/systems${title === "Story" ? "" : "/story.one"}`,
      { ...system, title },
    );
    assert.ok(status < 300, JSON.stringify(body));
  }
  assert.ok((await send(ada, "POST", "/config/systems/story.one/rollback", { version: 1 })).status < 300);
  assert.ok((await send(ada, "DELETE", "/config/systems/story.one")).status < 300);
  await fetch(`${instance.origin}/auth/logout`, { method: "POST", headers: cleo.headers, redirect: "manual" });

  const operator = await fetchToken(instance.port, { client: "service:operator", data: instance.data });
  const outbox = async (state: string) => {
    const response = await fetch(`${instance.origin}/api/v1/events/outbox?state=${state}`, {
      headers: { authorization: `Bearer ${operator}` },
    });
    assert.equal(response.status, 200, "the operator sees what waits");
    return ((await response.json()) as { items: { readonly type: string; readonly tenant: string }[] }).items;
  };
  await until(
    () => outbox("pending"),
    // Each look is a decision of its own.
    (items) => items.every(({ type, tenant }) => type === "authz.decision" && tenant === "*"),
    60_000,
  );
  assert.deepEqual(await outbox("dead"), []);
  const records = await broker.read(...new Set(Object.values(eventTypes).map(({ topic }) => topic)));
  const values = ["canary-value", "canary-value-2", "canary of a purpose", "canary-path"];
  const hidden = values.flatMap((value) => formsOf(value).map(([, text]) => text));
  const seen = new Set<string>();
  const schemas = new Map<string, AnySchema>();
  for (const record of records) {
    const { topic, value, headers } = record;
    const type = headers["ce_type"] ?? "";
    seen.add(type.replace(/\.v1$/, ""));
    assert.equal(topic, eventTypes[type.replace(/\.v1$/, "")]?.topic);
    const event = cloudEventOf(record);
    assert.equal(event.type, type);
    const schema = schemas.get(type) ?? ((await (await fetch(event.dataschema ?? "")).json()) as AnySchema);
    schemas.set(type, schema);
    requireValid(schema, event);
    for (const word of ["canary", "person:", "people/demo", "api_key", ...hidden])
      assert.ok(!value.includes(word) && !JSON.stringify(headers).includes(word), `${word} in ${type} ${value}`);
  }
  assert.deepEqual([...seen].toSorted(), Object.keys(eventTypes).toSorted());
});
