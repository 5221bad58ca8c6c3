import { createServer } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestInstance, type TestInstance } from "../../e2e/test-instance.ts";
import { fetchToken } from "../../e2e/tokens.ts";
import { residentBytes } from "./kit/process-cpu.ts";
import type { Figure, Section } from "./kit/report.ts";

const WARM_UP = 50;
const ROUNDS = 500;

interface Timed {
  readonly p50: number;
  readonly p95: number;
}

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

/** One at a time, in milliseconds; the first rounds warm up and do not count. */
const time = async (act: () => Promise<void>): Promise<Timed> => {
  for (let round = 0; round < WARM_UP; round++) await act();
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    await act();
    taken.push(performance.now() - started);
  }
  taken.sort((a, b) => a - b);
  return { p50: percentile(taken, 0.5), p95: percentile(taken, 0.95) };
};

const post = async (url: string, token: string, body: unknown, accept: (answer: string) => boolean): Promise<void> => {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200 || !accept(text)) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 300)}`);
};

/** The reference: a bare node:http server that reads a JSON body and answers JSON, asked by the same client. */
const timeReference = async (): Promise<Timed> => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.setHeader("content-type", "application/json").end('{"decision":true}'));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    return await time(() => post(url, "none", { a: 1 }, () => true));
  } finally {
    server.close();
  }
};

const timeStart = async (data: string): Promise<{ readonly instance: TestInstance; readonly seconds: number }> => {
  const started = performance.now();
  const instance = await startTestInstance({ data, environment: { LOG_LEVEL: "warn" } });
  return { instance, seconds: (performance.now() - started) / 1000 };
};

const figure = (what: string, timed: Timed, reference: Timed): Figure => ({
  what,
  own: `p50 ${timed.p50.toFixed(2)} ms, p95 ${timed.p95.toFixed(2)} ms`,
  reference: `p50 ${reference.p50.toFixed(2)} ms, p95 ${reference.p95.toFixed(2)} ms`,
  ratio: `${(timed.p50 / reference.p50).toFixed(1)}, ${(timed.p95 / reference.p95).toFixed(1)}`,
  target: "",
});

const plain = (what: string, own: string): Figure => ({ what, own, reference: "", ratio: "", target: "" });

/** The whole instance in one process: start, idle memory, and single calls through it one at a time. */
export const benchInstance = async (): Promise<Section> => {
  const data = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  try {
    const cold = await timeStart(data);
    await cold.instance.stop();
    const warm = await timeStart(data);
    const { instance } = warm;
    try {
      await new Promise((resolve) => setTimeout(resolve, 5000));
      const memory = residentBytes(instance.process.pid as number) / 2 ** 20;
      const reference = await timeReference();
      const ben = await fetchToken(instance.port, { user: "ben" });
      const pep = await fetchToken(instance.port, { client: "service:pep", data });
      const cleo = await fetchToken(instance.port, { user: "cleo" });
      const agent = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });
      const delegated = await fetch(`http://localhost:${instance.port + 4}/api/v1/delegations`, {
        method: "POST",
        headers: { authorization: `Bearer ${ben}`, "content-type": "application/json", "idempotency-key": "bench" },
        body: JSON.stringify({
          agent_id: "agent:hr-assistant",
          capabilities: ["people.demo.list_employees"],
          budget_usd: 100,
          max_steps: 10_000,
          purpose: "bench",
        }),
      });
      if (delegated.status !== 201) throw new Error(`no delegation: ${await delegated.text()}`);
      const evaluation = {
        subject: { type: "identity", id: "person:ben" },
        action: { name: "view" },
        resource: { type: "pages", id: "people" },
      };
      const call = {
        jsonrpc: "2.0",
        id: "1",
        method: "tools/call",
        params: { name: "people.demo.list_employees", arguments: { limit: 2 } },
      };
      const decided = (answer: string): boolean => answer.includes('"decision":true');
      const called = (answer: string): boolean => answer.includes('"result"');
      const rows: Figure[] = [
        figure(
          "evaluation at the pdp, view, record batched",
          await time(() => post(`http://localhost:${instance.port + 2}/access/v1/evaluation`, pep, evaluation, decided)),
          reference,
        ),
        figure(
          "governed tool call, person, through gateway",
          await time(() => post(`http://localhost:${instance.port}/api/crud/mcp/jsonrpc`, cleo, call, called)),
          reference,
        ),
        figure(
          "governed tool call, agent, all steps",
          await time(() => post(`http://localhost:${instance.port}/api/crud/mcp/jsonrpc`, agent, call, called)),
          reference,
        ),
      ];
      return {
        title: "House",
        conditions: [
          `One at a time, ${ROUNDS} rounds after ${WARM_UP}; demo world on PGlite, all in one process, the client in another.`,
          "Reference: a JSON POST to a bare node:http server by the same client. No target; times are shown, not judged.",
        ],
        figures: [
          plain("start, cold (empty folder)", `${cold.seconds.toFixed(2)} s`),
          plain("start, warm", `${warm.seconds.toFixed(2)} s`),
          plain("memory of the idle instance (RSS after 5 s)", `${memory.toFixed(0)} MB`),
          ...rows,
        ],
      };
    } finally {
      await instance.stop();
    }
  } finally {
    await rm(data, { recursive: true, force: true });
  }
};
