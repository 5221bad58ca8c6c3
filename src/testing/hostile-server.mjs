import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

// An MCP server that lists what the file of its argument says, as it is written there but for `@`, which is another number in each list. Its tools
// answer with what is large, deep or wide, and then its list has changed.
const tools = readFileSync(process.argv[2], "utf8");
let lists = 0;
const answers = {
  large: () => JSON.stringify({ content: [{ type: "text", text: "x".repeat(3_000_000) }] }),
  deep: () => `{"content":[],"structuredContent":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`,
  wide: () => JSON.stringify({ content: [], structuredContent: { items: Array.from({ length: 50_000 }, (_none, at) => at) } }),
  many: () => JSON.stringify({ content: Array.from({ length: 900 }, () => ({ type: "text", text: "x" })) }),
};
const about = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "hostile", version: "1" },
};
const say = (text) => process.stdout.write(`${text}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === "initialize") say(JSON.stringify({ jsonrpc: "2.0", id, result: about }));
  else if (method === "tools/list") say(`{"jsonrpc":"2.0","id":${id},"result":{"tools":${tools.replaceAll("@", String(lists++))}}}`);
  else if (method === "tools/call") {
    say(`{"jsonrpc":"2.0","id":${id},"result":${(answers[params.name] ?? answers.many)()}}`);
    say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  } else say(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "not known here" } }));
}
