import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "#testing/until.ts";
import { memoryServer, petKey, petstore, startOwnTools, wallClock } from "./own-tools.ts";

/** As docs/howto/bring-your-own-tools.md walks it. */
test("from a published document, and from a system written by hand, to an agent's governed call, without the demo and without a restart", async (t) => {
  const { upstream, config, ben, as, call, agent, ada, steps, give: giveAll, walk } = await startOwnTools(t);
  const looked = await config("POST", "/config/imports/openapi?provider=pets&instance=store", petstore);
  assert.deepEqual([looked.operations, looked.importable], [20, 20], JSON.stringify(looked));
  const choice = {
    pick: ["GET /pet/{petId}", "POST /pet"],
    baseUrl: `${upstream.url}/v2`,
    allow: ["127.0.0.1/32"],
    title: "Pet store",
    auth: petKey,
  };
  // What its key still lacks is told before and after, and is named until it is done.
  for (const query of ["?dryRun=true", ""]) {
    const made = await config("POST", `/config/imports/${looked.import_id}/accept${query}`, choice);
    assert.deepEqual(made.diff.tools_added, ["pets.store.add_pet", "pets.store.get_pet_by_id"]);
    assert.deepEqual(
      made.warnings.map((warning: string) => /not there|may not use/.exec(warning)?.[0]),
      ["not there", "may not use"],
    );
  }
  const admin = "an administrator (role:administrator)";
  const pet = "pets.store.get_pet_by_id";
  const lacks = async () => (await steps(pet)).filter((step) => step.startsWith("secret"));
  assert.deepEqual(await lacks(), [`secret ${admin}`, `secret_use ${admin}`]);
  assert.equal((await call(ada.headers, "POST", "/api/secrets", { uri: petKey.value, value: "canary-pets" })).status, 201);
  assert.deepEqual(await lacks(), [`secret_use ${admin}`]);
  const named = { kind: "Resource", name: "Key of the pets", system: "sallyport", external_id: "yaml://secret/pets" };
  await as(ada)(
    "PUT",
    "/nodes/resource:secret.pets",
    { ...named, props: { type: "secret", attributes: { used_by: "pets.store" } } },
    { "if-none-match": "*" },
  );
  assert.deepEqual(await lacks(), []);
  await config("POST", "/config/systems", wallClock(upstream.url), { "content-type": "application/yaml" });

  await giveAll(["pets.store.get_pet_by_id", "clock.wall.now"]);
  await walk(
    [
      ["pets.store.get_pet_by_id", { petId: 7 }, "/v2/pet/7"],
      ["clock.wall.now", {}, "/now"],
    ],
    "pets.store.add_pet",
  );
  assert.deepEqual([...new Set(upstream.seen.map(({ headers }) => headers["api_key"]))], ["canary-pets", undefined]);

  // Of a delegation that runs already it is named, too, that it covers another tool not yet.
  assert.deepEqual(await steps("pets.store.add_pet"), [`grant ${admin}`, `capability ${admin}`, "delegate person:oidc:ben-1"]);

  // What an agent was given is the tool as it was then: it stays without it for another definition, until it is given again.
  const graph = as(ada);
  const give = async (digest: string) => {
    await graph("PUT", "/edges/HAS_CAPABILITY/agent:helper/clock.wall.now", { props: { granted_by: "person:oidc:ada-1" }, digest });
  };
  const { execute } = await agent();
  const reported = async () => {
    const { status, body } = await execute("clock.wall.now", {});
    return `${status} ${body.code ?? body.success}`;
  };
  assert.equal(await reported(), "200 true");
  const changed = wallClock(upstream.url).replace("Tells what time it is", "Tells the time that it is");
  await config("PUT", "/config/systems/clock.wall", changed, { "content-type": "application/yaml" });
  assert.equal(await reported(), "403 definition_drifted");
  assert.deepEqual(await steps("clock.wall.now"), ["capability an administrator (role:administrator)"]);
  await give((await config("GET", "/mcp/tools/explain?tool=clock.wall.now")).about.digest);
  assert.equal(await reported(), "200 true");
  assert.deepEqual(await steps("clock.wall.now"), []);

  // A server's definitions wait for who owns the system; what they approve is known to the graph, whatever they may do there.
  for (const [instance, owner] of [
    ["own", "person:oidc:ben-1"],
    ["other", "person:oidc:ada-1"],
  ] as const)
    await config("POST", "/config/systems", memoryServer(instance, owner), { "content-type": "application/yaml" });
  await until(async () => (await config("GET", "/config/definitions?state=proposed")).definitions.length === 18);
  const own = as(ben, "crud");
  const waiting: { tool: string; served_digest: string }[] = (await own("GET", "/config/definitions")).definitions;
  assert.deepEqual([waiting.length, waiting.every(({ tool }) => tool.startsWith("notes.own."))], [9, true]);
  const read = waiting.find(({ tool }) => tool === "notes.own.read_graph");
  const answer = { digest: read?.served_digest, reason: "read it" };
  assert.equal((await call(ben.headers, "POST", "/api/crud/config/definitions/notes.other.read_graph/approve", answer)).status, 403);
  const approved = await own("POST", "/config/definitions/notes.own.read_graph/approve", answer);
  assert.deepEqual(approved, { tool: "notes.own.read_graph", state: "approved", warnings: [] });
  assert.deepEqual(await steps("notes.own.read_graph"), [`grant ${admin}`, `capability ${admin}`, "delegate person:oidc:ben-1"]);
});
