import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { MAX_SYSTEM_BYTES } from "#contract/configs.ts";
import { readSystemText } from "#crud/systems/read-system-text.ts";
import { inspectDocument, makeSystem } from "./import-document.ts";

const unpacked = (name: string): Uint8Array => gunzipSync(readFileSync(new URL(`./documents/${name}.json.gz`, import.meta.url)));
const head = {
  apiVersion: "systems/v1",
  provider: "acme",
  instance: "api",
  title: "Imported",
  owner: "group:people-ops",
  kind: "http",
  baseUrl: "https://api.example",
  defaults: { dataScope: "none" },
};

/** Imports all that can be, twice; answers how many, and why not the others. */
const importAll = (bytes: Uint8Array) => {
  const inspect = () => {
    const found = inspectDocument(bytes, "acme.api.");
    assert.ok("operations" in found, JSON.stringify(found));
    return found;
  };
  const found = inspect();
  const { operations, packed } = found;
  assert.deepEqual(inspect().operations, operations);
  const names = operations.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length, "two operations have one name");
  for (const name of names) assert.match(name, /^(?=.{1,64}$)acme\.api\.[a-z][a-z0-9_-]*$/);
  const left = operations.filter(({ importable }) => !importable);
  for (const { key, problems } of left) assert.equal(problems.length, 1, key);
  const picks = operations.flatMap(({ key, importable }) => (importable ? [key] : []));
  if (picks.length > 0) {
    const made = makeSystem({ packed, prefix: "acme.api.", picks, head });
    assert.deepEqual(made.issues, []);
    assert.equal(makeSystem({ packed, prefix: "acme.api.", picks: picks.toReversed(), head }).text, made.text);
    assert.ok(made.text.length <= MAX_SYSTEM_BYTES, `${made.text.length} bytes`);
    const read = readSystemText(made.text, "acme.api.yaml");
    assert.ok("value" in read, JSON.stringify("issues" in read ? read.issues.slice(0, 3) : ""));
    assert.equal(read.value.kind === "http" ? Object.keys(read.value.operations).length : 0, picks.length);
  }
  return { all: operations.length, importable: picks.length, why: [...new Set(left.map(({ problems }) => problems[0] ?? ""))] };
};

const ownServer = (server: string) => `has a server of its own: ${server}`;
const notCalls = ["HEAD is no call of a tool", "OPTIONS is no call of a tool"];
/** All operations, those that become tools, and why the others do not. */
const published: readonly (readonly [name: string, all: number, importable: number, why: readonly string[]])[] = [
  ["github", 1223, 1222, [ownServer("https://uploads.github.com")]],
  ["stripe", 452, 451, [ownServer("https://files.stripe.com/")]],
  ["kubernetes", 845, 833, notCalls],
  ["kubernetes-swagger", 1014, 1002, notCalls],
  ["digitalocean", 290, 290, []],
  ["xero", 224, 224, []],
  ["slack", 174, 174, []],
  ["okta", 19, 19, []],
  ["keycloak", 281, 281, []],
  ["azure-key-vault", 78, 78, []],
];

for (const [name, all, importable, why] of published)
  test(`the published document of ${name} becomes tools`, () => {
    const found = importAll(unpacked(name));
    assert.deepEqual({ ...found, why: found.why.toSorted() }, { all, importable, why: why.toSorted() });
  });

test("every example document becomes what it can, and says why not the rest", () => {
  const examples = JSON.parse(Buffer.from(unpacked("oas-examples")).toString()) as Record<string, unknown>;
  assert.equal(Object.keys(examples).length, 70);
  const reported = new Map<string, string>();
  for (const [name, document] of Object.entries(examples)) {
    const found = inspectDocument(Buffer.from(JSON.stringify(document)), "acme.api.");
    if (!("operations" in found)) reported.set(name, JSON.stringify(found.issues));
    else {
      const { all, importable, why } = importAll(Buffer.from(JSON.stringify(document)));
      if (importable < all) reported.set(name, `${importable} of ${all}: ${why.join("; ")}`);
    }
  }
  const unfit = (path: string): string =>
    `cannot be sent: request.path (${path}) must be / with plain characters and {placeholders}, without query, fragment and percent-encoding`;
  const fragments = `23 of 25: ${unfit("/cookies#formNonExploded")}; ${unfit("/cookies#formExploded")}`;
  assert.deepEqual(Object.fromEntries(reported), {
    "3.0/parameters-style": fragments,
    "3.0/server-path-level": `2 of 7: ${["/v2", "/v3", "https://operation.example.com/v3", "https://path-item-ref.example.com"].map(ownServer).join("; ")}`,
    "3.0/server-variables": `1 of 4: ${["https://httpbin.com/anything/demo", "https://httpbin.com/anything/common/demo"].map(ownServer).join("; ")}`,
    "3.1/parameters-style": fragments,
  });
});
