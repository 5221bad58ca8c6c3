import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cpuSeconds } from "./process-cpu.ts";

/** A request that wrk sends; a list of them is sent in turn. */
export interface WrkRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface WrkOptions {
  readonly port: number;
  readonly requests: readonly WrkRequest[];
  readonly seconds: number;
  readonly connections: number;
  /** Where the script may lie meanwhile. */
  readonly folder: string;
  /** Processes whose CPU is counted, with their descendants. */
  readonly pids: readonly number[];
}

export interface WrkResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly perCpuSecond: number;
  /** CPU seconds of the counted processes a second of the run. */
  readonly cpu: number;
  /** Microseconds, as wrk measures them: closed loop. */
  readonly p50: number;
  readonly p99: number;
}

const lua = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r")}"`;

const scriptOf = (requests: readonly WrkRequest[]): string => {
  const made = requests.map(({ method, path, headers, body }) => {
    const list = Object.entries(headers).map(([name, value]) => `[${lua(name)}]=${lua(value)}`);
    return `{${lua(method)}, ${lua(path)}, {${list.join(",")}}, ${body === undefined ? "nil" : lua(body)}}`;
  });
  return `
local list = {
${made.join(",\n")}
}
local made, at = {}, 0
function init()
  for index, one in ipairs(list) do made[index] = wrk.format(one[1], one[2], one[3], one[4]) end
end
function request()
  at = at % #made + 1
  return made[at]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('\\nRESULT {"requests":%d,"micros":%d,"p50":%d,"p99":%d,"failed":%d}\\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
`;
};

/** One run of wrk. Throws when a single answer was no 2xx or 3xx: a fast refusal is no figure. */
export const runWrk = async (options: WrkOptions): Promise<WrkResult> => {
  const script = join(options.folder, "wrk.lua");
  await writeFile(script, scriptOf(options.requests));
  const before = options.pids.map(cpuSeconds);
  const child = spawn(
    "wrk",
    ["-t1", `-c${options.connections}`, `-d${options.seconds}s`, "-s", script, `http://127.0.0.1:${options.port}/`],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more: string) => (text += more));
  await once(child, "close");
  const cpu = options.pids.reduce((sum, pid, index) => sum + cpuSeconds(pid) - (before[index] ?? 0), 0);
  await rm(script);
  const line = /RESULT (.*)/.exec(text)?.[1];
  if (line === undefined) throw new Error(`wrk said:\n${text}`);
  const result = JSON.parse(line) as { requests: number; micros: number; p50: number; p99: number; failed: number };
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} answers failed:\n${text}`);
  const seconds = result.micros / 1_000_000;
  return {
    requests: result.requests,
    perSecond: result.requests / seconds,
    perCpuSecond: result.requests / cpu,
    cpu: cpu / seconds,
    p50: result.p50,
    p99: result.p99,
  };
};
