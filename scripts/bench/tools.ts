import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { printJson } from "#parsing/yaml-document.ts";
import { startTestInstance } from "../../e2e/test-instance.ts";
import { fetchToken } from "../../e2e/tokens.ts";
import { freePort, waitForPort } from "./kit/ports.ts";
import { cpuSeconds } from "./kit/process-cpu.ts";
import { say } from "./kit/progress.ts";
import type { Figure, Section } from "./kit/report.ts";
import { measureTwoInstances } from "./tools/replicas.ts";
import { send } from "./tools/send.ts";

export const toolsOptions = {
  tools: { type: "string", default: "1200" },
  lists: { type: "string", default: "20" },
  turns: { type: "string", default: "50" },
} as const satisfies ParseArgsOptionsConfig;

const NAME = "many.tools";
const baseOf = (index: number): string => `show_${String(index).padStart(4, "0")}`;

/** A system of so many operations, each with an input of a few members. */
const systemOf = (count: number): string =>
  printJson({
    apiVersion: "systems/v1",
    provider: "many",
    instance: "tools",
    title: "Many",
    owner: "group:people-ops",
    tenants: ["tenant:acme"],
    kind: "http",
    baseUrl: "https://many.example",
    defaults: { dataScope: "none" },
    operations: Object.fromEntries(
      Array.from({ length: count }, (_unused, index) => [
        baseOf(index),
        {
          title: `Show number ${index}`,
          description: `Shows what stands under number ${index}, with its parts and who has changed it.`,
          request: { method: "GET", path: `/${index}/{id}` },
          input: {
            type: "object",
            required: ["id"],
            properties: {
              id: { type: "string", maxLength: 60, description: "Which one." },
              depth: { type: "integer", minimum: 1, maximum: 9, description: "How many parts within parts." },
              since: { type: "string", format: "date-time", description: "Only what changed after it." },
            },
          },
        },
      ]),
    ),
  });

/** All pages of the list, by a client of the SDK that is connected already. */
const listBy = async (
  url: string,
  token: string,
): Promise<{ readonly list: () => Promise<readonly object[]>; readonly end: () => Promise<void> }> => {
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
  return {
    list: async () => {
      const found: object[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } });
        found.push(...page.tools);
        cursor = page.nextCursor;
        if (cursor === undefined) return found;
      }
    },
    end: () => client.close(),
  };
};

/** Milliseconds of a processor that a program spends on so many lists, each. */
const spent = async (pid: number, lists: number, list: () => Promise<readonly object[]>, max: number): Promise<number> => {
  const before = cpuSeconds(pid);
  for (let round = 0; round < lists; round++) {
    const { length } = await list();
    if (length < max) throw new Error(`a list of ${length} tools`);
  }
  return ((cpuSeconds(pid) - before) * 1000) / lists;
};

const figure = (what: string, own: number, reference: number, max: number): Figure => ({
  what,
  own: `${own.toFixed(0)} ms of CPU`,
  reference: `${reference.toFixed(0)} ms of CPU`,
  ratio: (own / reference).toFixed(1),
  target: `<= ${max} ms`,
  isMet: own <= max,
});

/** A list of many tools: the first after a start and each one after it, beside the same tools at a bare server of the SDK; and how soon another instance lists what one published or switched off. */
export const benchTools = async (argv: readonly string[]): Promise<Section> => {
  const { values } = parseArgs({ args: [...argv], options: toolsOptions });
  const [count, lists, turns] = [Number(values.tools), Number(values.lists), Number(values.turns)];
  const data = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(data, { recursive: true, force: true }));
  const environment = { LOG_LEVEL: "warn", RATE_LIMITS: "login=1000/s,anonymous=100000/s" };
  say(`an instance with ${count} tools ...`);
  const first = await startTestInstance({ data, environment });
  const ada = await fetchToken(first.port, { user: "ada", acr: "strong" });
  await send(`http://localhost:${first.port + 3}/config/systems`, ada, "POST", systemOf(count));
  for (let index = 0; index < count; index++)
    await send(`http://localhost:${first.port + 4}/api/v1/edges/GRANTS_ACCESS/group:people-ops/${NAME}.${baseOf(index)}`, ada, "PUT", "{}");
  await first.stop();

  const instance = await startTestInstance({ data, port: first.port, environment });
  stack.defer(async () => void (await instance.stop()));
  const pid = instance.process.pid as number;
  const ben = await fetchToken(instance.port, { user: "ben" });
  const own = await listBy(`http://localhost:${instance.port + 3}/mcp`, ben);
  stack.defer(own.end);
  const tools = await (async () => {
    const cold = await spent(pid, 1, own.list, count);
    return { cold, whole: await own.list() };
  })();
  say("the same again ...");
  await spent(pid, 3, own.list, count);
  const warm = await spent(pid, lists, own.list, count);
  const whole = async (): Promise<readonly object[]> => {
    const answer = await fetch(`http://localhost:${instance.port + 3}/mcp/tools/list`, { headers: { authorization: `Bearer ${ben}` } });
    return ((await answer.json()) as { tools: readonly object[] }).tools;
  };
  const unpaged = await spent(pid, lists, whole, count);

  const file = join(data, "tools.json");
  await writeFile(file, JSON.stringify(tools.whole));
  const port = await freePort();
  const bare = spawn(process.execPath, [join(import.meta.dirname, "programs/bare-mcp.ts"), file, String(port)], { stdio: "ignore" });
  stack.defer(() => void bare.kill());
  await waitForPort(port);
  const reference = await listBy(`http://127.0.0.1:${port}/mcp`, "none");
  stack.defer(reference.end);
  const bareCold = await spent(bare.pid as number, 1, reference.list, count);
  const bareWarm = await spent(bare.pid as number, lists, reference.list, count);
  await instance.stop();
  const across = await measureTwoInstances(stack, turns);
  return {
    title: "Lists of tools",
    conditions: [
      `The demo instance in one process on PGlite with ${count} tools of one system, each granted to a group of the person who lists; ${lists} lists after the first.`,
      "CPU of the whole process, in steps of 10 ms; the client is another one. Reference: the same tools, in the same pages, by the bare server of the MCP SDK, to the same client.",
      `Two instances: whole ones, a process each, on one PostgreSQL of this machine; ${turns} turns each, by the clock, from the request to the one to the answer of the other's first list that shows what it did.`,
    ],
    figures: [
      figure("the first list after a start, all pages of 200", tools.cold, bareCold, 2000),
      figure("each further one", warm, bareWarm, 50),
      figure("the same in the contract's dialect, one page", unpaged, bareWarm, 50),
      ...across,
    ],
  };
};
