import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createSseParser, type SsePart } from "#http/sse.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { crudInstance, type CrudInstance } from "#testing/crud-instance.ts";
import { until } from "#testing/until.ts";

const scopes = ["config.read", "config.write"];
const ada = { sub: "person:ada", scopes };
const eve = { sub: "person:eve", tenant: "tenant:globex", scopes };

const document = (instance: string, title = "Staff"): string => `apiVersion: systems/v1
provider: staff
instance: ${instance}
title: ${title}
owner: group:people-ops
tenants: [tenant:acme]
kind: http
baseUrl: "\${DEMO_UPSTREAM_URL}/api"
network: { allow: [127.0.0.1/32] }
auth: { type: none }
defaults: { dataScope: none }
operations:
  get_one: { description: Shows one employee by id., request: { method: GET, path: "/employees" }, input: { type: object } }
`;

type Message = Extract<SsePart, { kind: "message" }>;
const watch = async (t: TestContext, instance: CrudInstance, path = "/configs/stream", as: object = ada, lastEventId?: string) => {
  const response = await instance.request(path, {
    as,
    ...(lastEventId === undefined ? {} : { headers: { "last-event-id": lastEventId } }),
  });
  assert.equal(response.status, 200, await (response.ok ? "" : response.text()));
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  cleanUp(t, () => reader.cancel());
  const messages: Message[] = [];
  const parser = createSseParser();
  void (async () => {
    for (let step = await reader.read(); !step.done; step = await reader.read())
      messages.push(...parser.push(step.value).filter((part): part is Message => part.kind === "message"));
  })().catch(() => undefined);
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into what it expects
  const reported = (): readonly { readonly event: string; readonly id: string; readonly data: any }[] =>
    messages.map(({ event, lastEventId: id, data }) => ({ event, id, data: JSON.parse(data) }));
  return { reported, stop: () => reader.cancel() };
};
const send = async (instance: CrudInstance, method: string, path: string, raw?: string): Promise<void> => {
  const headers: Record<string, string> = raw === undefined ? {} : { "content-type": "application/yaml" };
  const response = await instance.request(path, { method, as: ada, headers, ...(raw === undefined ? {} : { raw }) });
  assert.ok(response.ok, await response.text());
};

/** What a reader holds that believes the stream. */
const heldBy = (reported: ReturnType<Awaited<ReturnType<typeof watch>>["reported"]>): ReadonlyMap<string, number> => {
  const held = new Map<string, number>();
  for (const { event, data } of reported) {
    if (event === "object") held.set(`${data.kind}/${data.id}`, data.version);
    if (event === "removed") held.delete(`${data.kind}/${data.id}`);
  }
  return held;
};
const thereNow = async (instance: CrudInstance): Promise<ReadonlyMap<string, number>> => {
  const response = await instance.request("/config/systems?limit=500", { as: ada });
  const { systems } = (await response.json()) as { systems: { name: string; version: number }[] };
  return new Map(systems.map(({ name, version }) => [`system/${name}`, version]));
};

test("who watches configuration is told all of it, then what becomes of it, in every process; list and changes are what there is", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  const other = await crudInstance(t, { realEvents: true, beside: instance });
  const [here, there] = [await watch(t, instance), await watch(t, other, "/configs/stream?kind=system")];
  await until(() => here.reported().some(({ event }) => event === "synced") && there.reported().some(({ event }) => event === "synced"));
  const first = here.reported();
  const synced = first.find(({ event }) => event === "synced");
  const acts = await watch(t, other, "/events/config?event=config");
  await until(() => acts.reported().length > 0);
  assert.deepEqual(first[0]?.event, "hello");
  assert.equal(synced?.data.count, first.filter(({ event }) => event === "object").length);
  assert.ok(first.some(({ event, data }) => event === "object" && data.kind === "tools"));
  assert.ok(!there.reported().some(({ data }) => data.kind === "tools"));
  // A list that is cut begins anew: nothing of it has a place of its own.
  assert.deepEqual(new Set(first.slice(0, first.indexOf(synced as (typeof first)[number])).map(({ id }) => id)), new Set([""]));

  await send(instance, "POST", "/config/systems", document("one"));
  await send(other, "POST", "/config/systems", document("two"));
  await send(instance, "PUT", "/config/systems/staff.one", document("one", "Changed"));
  await send(other, "DELETE", "/config/systems/staff.two");
  const isReported = ({ reported }: typeof here): boolean =>
    reported().some(({ event, data }) => event === "removed" && data.id === "staff.two");
  await until(() => isReported(here) && isReported(there));
  await until(() => acts.reported().filter(({ event }) => event === "config").length === 4);
  assert.deepEqual(
    acts
      .reported()
      .flatMap(({ event, data }) => (event === "config" ? [`${data.type} ${data.kind} ${data.name} ${data.version} ${data.op}`] : [])),
    [
      "config.published system staff.one 1 created",
      "config.published system staff.two 1 created",
      "config.published system staff.one 2 updated",
      "config.deleted system staff.two 2 deleted",
    ],
    "an event has an id of its own: the object goes by its name",
  );
  const authors = acts.reported().flatMap(({ event, data }) => (event === "config" ? [data.author] : []));
  const [author] = authors;
  assert.match(author?.ref ?? "", /^sr1\.[A-Za-z0-9_-]{22}$/);
  assert.deepEqual(
    authors,
    authors.map(() => author),
    "all by the same person, who is named by reference",
  );
  const changed = here.reported().findLast(({ event, data }) => event === "object" && data.id === "staff.one");
  assert.deepEqual([changed?.data.version, changed?.data.state, changed?.data.body.title], [2, "serving", "Changed"]);
  for (const { reported } of [here, there]) {
    const held = new Map([...heldBy(reported())].filter(([key]) => key.startsWith("system/")));
    assert.deepEqual(held, await thereNow(instance));
  }

  // From the place of the list on, all that came since is told again, as it is now.
  const again = await watch(t, other, "/configs/stream", ada, synced?.id);
  await until(() => isReported(again));
  assert.ok(!again.reported().some(({ event }) => event === "synced"));
  assert.equal(heldBy(again.reported()).get("system/staff.one"), 2);

  // Another tenant's eyes, and a place that is no place.
  const foreign = await watch(t, instance, "/configs/stream", eve);
  await until(() => foreign.reported().some(({ event }) => event === "synced"));
  assert.ok(!foreign.reported().some(({ data }) => String(data.id).startsWith("staff.")));
  const lost = await watch(t, instance, "/configs/stream", ada, "999999");
  await until(() => lost.reported().some(({ event }) => event === "synced"));
  assert.ok(lost.reported().some(({ event }) => event === "resync"));
});

const refusals: readonly (readonly [what: string, path: string, as: object, verdict: string | undefined, status: number])[] = [
  ["without the scope", "/configs/stream", { sub: "person:ada", scopes: ["mcp.tools.discovery"] }, undefined, 403],
  ["who may have the stream and not read systems", "/configs/stream", ada, "system:view", 403],
  ["who may read systems and not have the stream", "/configs/stream", ada, "streams:config", 403],
  ["of a kind that is none", "/configs/stream?kind=secret", ada, undefined, 422],
  ["with a filter that is none", "/configs/stream?kinds=system", ada, undefined, 422],
];
test("a stream of configuration is refused", async (t) => {
  const instance = await crudInstance(t, { realEvents: true });
  for (const [what, path, as, verdict, status] of refusals) {
    instance.verdicts.clear();
    if (verdict !== undefined) instance.verdicts.set(verdict, false);
    const response = await instance.request(path, { as });
    await response.body?.cancel();
    assert.equal(response.status, status, what);
  }
});
