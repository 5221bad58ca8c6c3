import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { atOnce } from "#http/yielding.ts";
import { documentKinds } from "#crud/systems/system-document.ts";
import type { Children } from "#crud/upstream/mcp-children.ts";
import { externalTools } from "./external-tools.ts";
import { listForeignTools } from "./list-foreign-tools.ts";

const document = documentKinds.mcp.parse({
  apiVersion: "systems/v1",
  kind: "mcp",
  provider: "far",
  instance: "tools",
  title: "Far",
  owner: "person:ada",
  transport: { type: "stdio", command: "far" },
  defaults: { dataScope: "none" },
});

/** A server that lists these pages. */
const clientOf = (pages: readonly (readonly object[])[]): Client => {
  let asked = 0;
  return {
    getServerCapabilities: () => ({ tools: {} }),
    request: async () => {
      const tools = pages[asked++];
      return asked < pages.length ? { tools, nextCursor: String(asked) } : { tools };
    },
  } as unknown as Client;
};
const small = (name: string): object => ({ name, inputSchema: { type: "object" } });
const large = (name: string, examples: unknown): object => ({ name, inputSchema: { type: "object", examples } });

const LIST = /^the list has more than 4194304 characters$/;
const TOOL = /^it has more than 262144 characters$/;
for (const [what, pages, served, refused] of [
  ["nothing large", [[small("a")], [small("b")]], ["a", "b"], []],
  ["one text", [[large("a", ["x".repeat(300_000)]), small("b")]], ["b"], [["a", TOOL]]],
  [
    "many small values",
    [
      [
        large(
          "a",
          Array.from({ length: 270_000 }, () => 1),
        ),
        small("b"),
      ],
    ],
    ["b"],
    [["a", TOOL]],
  ],
  ["a name without end", [[small("n".repeat(2_000_000)), small("b")]], ["b"], [["(a long name)", TOOL]]],
  [
    "many pages",
    Array.from({ length: 90 }, (_none, at) =>
      at === 89 ? [] : [large(`a${at}`, ["x".repeat(100_000)]), ...(at === 41 ? [small("b")] : [])],
    ),
    ["b"],
    Array.from({ length: 64 }, (_none, at) => [`a${at}`, at < 41 ? /schema is larger/ : LIST]),
  ],
] as const)
  test(`of what a server lists no more is stored than can be served, and the rest is reported: ${what}`, async () => {
    const listed = await listForeignTools(clientOf(pages), { signal: new AbortController().signal, timeout: 1000 });
    const found = atOnce(externalTools(document, listed, { children: {} as Children }));
    assert.deepEqual(
      found.tools.map(({ name }) => name.slice("far.tools.".length)),
      served,
    );
    assert.equal(found.refused.length, refused.length);
    for (const [name, why] of refused) assert.match(found.refused.find((one) => one.name === name)?.reason ?? "", why as RegExp);
    assert.ok(JSON.stringify(listed).length < 4_300_000);
  });
