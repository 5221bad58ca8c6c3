import assert from "node:assert/strict";
import { test } from "node:test";
import { startKvDouble } from "#testing/kv-double.ts";
import { kvProvider, kvServer } from "#testing/kv-provider.ts";
import { testSecrets } from "#testing/secrets.ts";

const ada = { sub: "person:ada", tenant: "tenant:acme", scopes: ["secrets.write", "secrets.read_metadata"] };
/** URIs of the other two come between that of the first and those below it. */
const places = ["team", "team.y", "team-x"];
const paths = places.flatMap((place) => ["", "/a", "/a-b"].map((tail) => `${place}${tail}`));

for (const base of ["yaml://secret", "vaulta+kv2://kv-a"])
  for (const list of ["metadata", "search?q=team"])
    test(`pages of ${list} of whatever size tell each secret below places of ${base} once, in the order of the URIs`, async (t) => {
      const store = await startKvDouble(t, "openbao");
      const mounts = places.map((place) => `${base}/${place}`);
      const at = await testSecrets(t, {
        more: [kvProvider(kvServer({ URL: store.url, TOKEN: store.rootToken }))],
        settings: { TENANT_ALLOWED_MOUNTS: JSON.stringify({ "tenant:acme": mounts }) },
      });
      const expected = paths.map((path) => `${base}/${path}`).toSorted();
      const operations = expected.map((uri) => ({ op: "set", uri: `${uri}#k`, value: 1 }));
      assert.equal((await at.send(ada, "POST", "/api/secrets/bulk", { body: { operations } })).status, 200);
      for (let limit = 1; limit <= expected.length + 1; limit++) {
        const found: string[] = [];
        let cursor: string | undefined;
        do {
          const more = `depth=8&limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`;
          const response = await at.send(ada, "GET", `/api/secrets/${list}${list.includes("?") ? "&" : "?"}${more}`);
          const page = (await response.json()) as { items: { uri: string }[]; next_cursor?: string };
          assert.equal(response.status, 200, JSON.stringify(page));
          found.push(...page.items.map(({ uri }) => uri));
          cursor = page.next_cursor;
          assert.ok(page.items.length === limit || cursor === undefined);
        } while (cursor !== undefined);
        assert.deepEqual(found, expected, `pages of ${limit}`);
      }
    });
