import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { sharedInstance } from "./shared-instance.ts";
import type { TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const run = promisify(execFile);
const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");
const command = manifest.replace(/package\.json$/, "clients/launcher/build/index.js");

let instance: TestInstance;
let agent: string;
before(async () => {
  instance = await sharedInstance();
  agent = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });
});

/** The stock command-line client, as the README shows it. */
const inspect = async (...args: readonly string[]): Promise<unknown> => {
  const { stdout } = await run(process.execPath, [
    command,
    "--cli",
    `${instance.origin}/mcp`,
    "--transport",
    "http",
    "--header",
    `Authorization: Bearer ${agent}`,
    ...args,
  ]).catch((error: unknown) => {
    const { stdout: said = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    // A result with `isError` ends the command with a failure of its own.
    if (said.trim().startsWith("{")) return { stdout: said };
    throw new Error(`${said}${stderr}`);
  });
  return JSON.parse(stdout);
};

test("the MCP Inspector lists exactly health and the delegated tools, with portable schemas", async () => {
  const { tools } = (await inspect("--method", "tools/list", "--strict")) as { tools: { name: string }[] };
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [
    "people.demo.get_employee",
    "people.demo.list_employees",
    "people.demo.update_salary",
    "system.health",
  ]);
});

test("a call answers filtered rows with the birth date as a year", async () => {
  const result = (await inspect(
    "--method",
    "tools/call",
    "--tool-name",
    "people.demo.list_employees",
    "--tool-args-json",
    '{"limit":2}',
  )) as {
    content: { text: string }[];
  };
  const { items } = JSON.parse(result.content[0]?.text ?? "{}") as { items: { tenant: string; birth_date: string }[] };
  assert.ok(items.length > 0);
  for (const item of items) {
    assert.equal(item.tenant, "tenant:acme");
    assert.match(item.birth_date, /^\d{4}$/);
  }
});

test("a change of salary is refused for want of a second factor, with the way out", async () => {
  const result = (await inspect(
    "--method",
    "tools/call",
    "--tool-name",
    "people.demo.update_salary",
    "--tool-arg",
    "id=e1",
    "--tool-arg",
    "salary=70000",
  )) as { isError?: boolean; content: { text: string }[] };
  assert.equal(result.isError, true);
  assert.match(result.content[0]?.text ?? "", /step_up_required[\s\S]*\/auth\/login\?/);
});
