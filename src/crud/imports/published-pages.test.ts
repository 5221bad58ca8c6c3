import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { crudInstance } from "#testing/crud-instance.ts";
import { inspectDocument, makeSystem } from "./import-document.ts";

const ada = { sub: "person:ada", scopes: ["config.write", "mcp.tools.discovery"] };
const headers = { "content-type": "application/json" };
const head = { apiVersion: "systems/v1", title: "T", owner: "group:people-ops", tenants: ["tenant:acme"], kind: "http" };
const defaults = { dataScope: "none" };
const prefix = "github.api.";

/** A system of so many tools, whose names stand around those of the large one. */
const around = (provider: string, count: number): string => {
  const operation = { description: "Does it for a test.", request: { method: "GET", path: "/a" } };
  const operations = Object.fromEntries(Array.from({ length: count }, (_none, index) => [`tool_${index}`, operation]));
  return JSON.stringify({ ...head, provider, instance: "api", baseUrl: "https://around.example", defaults, operations });
};

test("the 1,222 tools of a published document are paged without doubles or losses while others publish", async (t) => {
  const document = gunzipSync(readFileSync(new URL("./documents/github.json.gz", import.meta.url)));
  const found = inspectDocument(document, prefix);
  assert.ok("operations" in found);
  const wanted = found.operations.filter(({ importable }) => importable);
  const own = { ...head, provider: "github", instance: "api", baseUrl: "https://github.example", defaults };
  const { text } = makeSystem({ packed: found.packed, prefix, picks: wanted.map(({ key }) => key), head: own });
  const instance = await crudInstance(t, { realEvents: true });
  const publish = async (method: string, path: string, raw: string): Promise<void> => {
    const response = await instance.request(`/config/systems${path}`, { method, as: ada, headers, raw });
    assert.ok(response.ok, await response.text());
  };
  await publish("POST", "", text);
  // What is decided holds for the moment: pages of one catalogue are decided once.
  instance.verdicts.set("mcp_server:tools/list", { obligations: [], moment: "m" });
  const names = wanted.map(({ name }) => name).toSorted();
  assert.equal(names.length, 1222);

  let published = 0;
  /** Systems before and behind the one that is paged grow and shrink. */
  const change = async (): Promise<void> => {
    published++;
    const provider = published % 2 === 0 ? "aaa" : "zzz";
    await publish("PUT", `/${provider}.api`, around(provider, 1 + (published % 5)));
  };
  for (const [limit, max, everyPages] of [
    [1, 40, 10],
    [7, Infinity, 40],
    [200, Infinity, 2],
    [500, Infinity, 1],
  ] as const) {
    const seen: string[] = [];
    let pages = 0;
    let last = "";
    for (let cursor: string | undefined; ;) {
      const params = { limit, ...(cursor === undefined ? {} : { cursor }) };
      const { body } = await instance.rpc({ jsonrpc: "2.0", id: 1, method: "tools/list", params }, { as: ada });
      assert.equal(body.error, undefined, JSON.stringify(body.error));
      assert.ok(body.result.tools.length <= limit);
      seen.push(...body.result.tools.map(({ name }) => name));
      last = seen.at(-1) ?? "";
      cursor = body.result.nextCursor;
      pages++;
      if (cursor === undefined || pages === max) break;
      if (pages % everyPages === 0) await change();
    }
    const large = seen.filter((name) => name.startsWith(prefix));
    const expected = max === Infinity ? names : names.filter((name) => name <= last);
    assert.deepEqual(large, expected, `pages of ${limit}`);
    assert.equal(new Set(seen).size, seen.length, `none twice in pages of ${limit}`);
  }
  assert.ok(published > 8, `${published} publishes`);
});
