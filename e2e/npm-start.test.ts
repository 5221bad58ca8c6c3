import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { findFreePorts } from "#testing/free-port.ts";
import { until } from "#testing/until.ts";
import { fetchToken } from "./tokens.ts";

const root = join(import.meta.dirname, "..");
const commands = {
  npm: ["npm", "start", "--"],
  "run.mjs": [process.execPath, join(root, "scripts/run.mjs"), "start"],
} as const;

/** An instance as a person starts it. Whoever is started is `child`; what it started in turn holds its output open until it ends. */
const start = async (t: TestContext, by: keyof typeof commands, environment: Readonly<Record<string, string>> = {}) => {
  const data = await mkdtemp(join(tmpdir(), "sallyport-npm-"));
  const [file, ...args] = commands[by];
  const port = await findFreePorts();
  const child = spawn(file, [...args, "--data", data, "--port", String(port)], {
    cwd: root,
    env: { ...process.env, ENVIRONMENT: "test", NODE_TEST_CONTEXT: undefined, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(child, "close");
  t.after(async () => {
    child.kill("SIGTERM");
    await ended;
    await rm(data, { recursive: true, force: true });
  });
  return { child, ended, port, data, output: () => output };
};

test("whatever ends npm start ends Sallyport with it", { skip: process.platform === "win32", timeout: 120_000 }, async (t) => {
  for (const by of ["npm", "run.mjs"] as const)
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const)
      await t.test(`${signal} to ${by}`, async (row) => {
        // An instance that waits for a database which says nothing: its connection breaks when it ends, and not before.
        const silent = createServer().listen(0, "127.0.0.1");
        row.after(() => silent.close());
        await once(silent, "listening");
        const { port } = silent.address() as AddressInfo;
        const asked = once(silent, "connection") as Promise<[Socket]>;
        const instance = await start(row, by, { DATABASE_URL: `postgres://sally:word@127.0.0.1:${port}/sallyport` });
        const [connection] = await asked;
        connection.on("error", () => undefined).resume();
        instance.child.kill(signal);
        await once(connection, "close");
        await instance.ended;
        assert.match(instance.output(), /SIGTERM: ended|SIGINT: ended/);
      });
});

test(
  "Ctrl-C in the terminal of npm start lets Sallyport finish what is under way",
  { skip: process.platform === "win32", timeout: 120_000 },
  async (t) => {
    const instance = await start(t, "npm");
    await until(instance.output, (said) => said.includes("Sallyport is ready"), 100_000);
    // To the whole group, as a terminal does.
    process.kill(-(instance.child.pid ?? 0), "SIGINT");
    await instance.ended;
    assert.match(instance.output(), /SIGINT: stopping .*\nStopped\. Nothing acknowledged was lost\./);
  },
);

const events = [
  "mcp_tools_list_start",
  "mcp_tools_list_complete",
  "mcp_jsonrpc_call",
  "mcp_jsonrpc_complete",
  "mcp_jsonrpc_error",
  "mcp_jsonrpc_forbidden",
];

test("npm start shows the events of the tool protocol, and no line for each request", { timeout: 120_000 }, async (t) => {
  const instance = await start(t, "run.mjs");
  await until(instance.output, (said) => said.includes("Sallyport is ready"), 100_000);
  const ben = await fetchToken(instance.port, { user: "ben", data: instance.data });
  const post = (body: string): Promise<Response> =>
    fetch(`http://localhost:${instance.port}/api/crud/mcp/jsonrpc`, {
      method: "POST",
      headers: { authorization: `Bearer ${ben}`, "content-type": "application/json" },
      body,
    });
  const call = (method: string, params: unknown = {}): Promise<Response> =>
    post(JSON.stringify({ jsonrpc: "2.0", id: "1", method, params }));
  await call("tools/list");
  await call("tools/call", { name: "system.health" });
  await call("tools/call", { name: "people.demo.update_salary", arguments: { id: "e1", salary: 1 } });
  await call("Tools/List");
  await post("{ no message");
  await until(instance.output, (said) => events.every((event) => said.includes(`"event":"${event}"`)));
  const lines = instance
    .output()
    .split("\n")
    .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as { event: string; data_code?: string; duration_ms?: number }] : []));
  assert.deepEqual(
    lines.filter(({ event, duration_ms: ms }) => event === "mcp_jsonrpc_error" && typeof ms !== "number"),
    [],
  );
  assert.ok(!lines.some(({ event }) => event === "http_request"));
});
