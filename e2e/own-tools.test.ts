import assert from "node:assert/strict";
import { test } from "node:test";
import { petstore, startOwnTools, wallClock } from "./own-tools.ts";

/** As docs/bring-your-own-tools.md walks it. */
test("from a published document, and from a system written by hand, to an agent's governed call, without the demo and without a restart", async (t) => {
  const { upstream, config, give, walk } = await startOwnTools(t);
  const looked = await config("POST", "/config/imports/openapi?provider=pets&instance=store", petstore);
  assert.deepEqual([looked.operations, looked.importable], [20, 20], JSON.stringify(looked));
  const choice = { pick: ["GET /pet/{petId}", "POST /pet"], baseUrl: `${upstream.url}/v2`, allow: ["127.0.0.1/32"], title: "Pet store" };
  const made = await config("POST", `/config/imports/${looked.import_id}/accept`, choice);
  assert.deepEqual([made.warnings, made.diff.tools_added], [[], ["pets.store.add_pet", "pets.store.get_pet_by_id"]]);
  await config("POST", "/config/systems", wallClock(upstream.url), { "content-type": "application/yaml" });

  await give(["pets.store.get_pet_by_id", "clock.wall.now"]);
  await walk(
    [
      ["pets.store.get_pet_by_id", { petId: 7 }, "/v2/pet/7"],
      ["clock.wall.now", {}, "/now"],
    ],
    "pets.store.add_pet",
  );
});
