import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#http/yielding.ts";
import { documentKinds } from "#crud/systems/system-document.ts";
import type { Children } from "#crud/upstream/mcp-children.ts";
import { externalTools, type ForeignTool } from "./external-tools.ts";

const documentOf = (tools: object) =>
  documentKinds.mcp.parse({
    apiVersion: "systems/v1",
    kind: "mcp",
    provider: "far",
    instance: "tools",
    title: "Far",
    owner: "person:ada",
    transport: { type: "stdio", command: "far" },
    tools,
    defaults: { dataScope: "none" },
  });
const toolOf = (name: string): ForeignTool => ({ name, description: "Does it.", inputSchema: { type: "object" } });
const parts = { children: {} as Children };

/** The same list, and how often an item of it was read. */
const counted = (items: readonly string[]) => {
  const reads = { count: 0 };
  const list = new Proxy([...items], {
    get: (target, name) => {
      if (typeof name === "string" && /^[0-9]+$/.test(name)) reads.count++;
      return Reflect.get(target, name) as unknown;
    },
  });
  return { reads, list };
};

test("patterns are read once for a list of five thousand tools, which is matched in pieces of one", () => {
  const patterns = (letter: string) => counted(Array.from({ length: 200 }, (_none, at) => `*${letter}${at}*x`));
  const [include, exclude] = [patterns("b"), patterns("c")];
  const document = documentOf({});
  const listed = counted(Array.from({ length: 5000 }, (_none, at) => `tool_b${at}_x`));
  let isRead = 0;
  const foreign = listed.list.map((name) => ({
    ...toolOf(name),
    get name() {
      isRead++;
      return name;
    },
  }));
  const work = externalTools({ ...document, tools: { ...document.tools, include: include.list, exclude: exclude.list } }, foreign, parts);
  let most = 0;
  for (let before = isRead, step = work.next(); step.done !== true && isRead < 5000; step = work.next()) {
    most = Math.max(most, isRead - before);
    before = isRead;
  }
  assert.deepEqual([include.reads.count, exclude.reads.count], [200, 200]);
  assert.ok(most > 0 && most <= 5, `${most} reads of names in a piece`);
});

test("tools are served as the patterns choose them, and one whose name is too long costs itself", () => {
  const document = documentOf({ include: ["read_*", "open"], exclude: ["*_raw"] });
  const names = ["read_a", "read_raw", "read_b_raw", "open", "open_b", `read_${"a".repeat(507)}`, `read_${"a".repeat(508)}`];
  const { tools, refused } = atOnce(externalTools(document, names.map(toolOf), parts));
  assert.deepEqual(
    tools.map(({ name }) => name.replace(/a{20,}_[0-9a-f]{6}$/, "…")),
    ["far.tools.read_a", "far.tools.open", "far.tools.read_…"],
  );
  assert.deepEqual(
    refused.map(({ name, reason }) => [name.length, reason]),
    [[128, "the name has more than 512 characters"]],
  );
});
