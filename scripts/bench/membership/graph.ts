import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgram } from "../kit/programs.ts";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { medianOf } from "../kit/statistics.ts";
import { runWrk, type WrkRequest } from "../kit/wrk.ts";
import type { LoadedGraph } from "./load.ts";

/** Microseconds. */
export interface Timed {
  readonly p50: number;
  readonly p99: number;
}
/** With the delay of the event loop meanwhile, p99.9. */
export interface Delayed extends Timed {
  readonly delayMs: number;
}
interface Pair<T> {
  readonly own: T;
  readonly reference: T;
}

/** What the measured process sends. Times in milliseconds but for `Timed`. */
export interface GraphFigures {
  readonly readMs: number;
  readonly buildMs: number;
  /** Longest stretch of the event loop while it was built. */
  readonly maxMs: number;
  readonly startMs: number;
  readonly heldBytes: number;
  readonly edgeBytes: number;
  readonly edges: number;
  readonly single: Readonly<Record<string, Pair<Timed>>>;
  /** Answers a second. */
  readonly concurrent: Pair<number>;
  readonly facts: Pair<Timed>;
  /** Requests over HTTP a CPU-second. */
  readonly served: Pair<number>;
  readonly written: {
    readonly idle: Delayed;
    readonly busy: Delayed;
    /** Busy, while the rows are read anew in the same process. */
    readonly rebuilt: Delayed;
    readonly perSecond: number;
  };
  readonly path: { readonly own: Timed; readonly label: Timed; readonly labelReference: Timed };
}

/** What it sends before, to be asked over HTTP; it waits for the `served` of its figures. */
export interface AskOverHttp {
  readonly ports: Pair<number>;
  readonly requests: Pair<readonly WrkRequest[]>;
}

const WRITE_SECONDS = 5;
const HTTP_SECONDS = 3;
const HTTP_ROUNDS = 3;
const program = join(import.meta.dirname, "../programs/graph-figures.ts");

/** Requests a CPU-second of the process, the median of rounds in turn. */
const overHttp = async ({ ports, requests }: AskOverHttp, pid: number): Promise<Pair<number>> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  const found: Record<keyof Pair<unknown>, number[]> = { own: [], reference: [] };
  for (let round = 0; round < HTTP_ROUNDS; round++)
    for (const side of ["own", "reference"] as const) {
      const run = { port: ports[side], requests: requests[side], seconds: HTTP_SECONDS, connections: 32, folder, pids: [pid] };
      found[side].push((await runWrk(run)).perCpuSecond);
    }
  await rm(folder, { recursive: true });
  return { own: medianOf(found.own, (one) => one), reference: medianOf(found.reference, (one) => one) };
};

const figuresOf = async ({ url, persons, nodes }: LoadedGraph, rounds: number): Promise<GraphFigures> => {
  say(`measuring the graph of ${nodes} nodes ...`);
  const args = [
    "--disable-warning=ExperimentalWarning",
    "--expose-gc",
    program,
    url,
    String(rounds),
    String(persons),
    String(WRITE_SECONDS),
  ];
  const child = await startProgram(process.execPath, args, { core: "measured", environment: { ENVIRONMENT: "test" } });
  try {
    const failed = once(child.process, "exit").then(() => Promise.reject(new Error(`it ended early:\n${child.said()}`)));
    const next = async (): Promise<unknown> => (await Promise.race([once(child.process, "message"), failed]))[0];
    const asked = (await next()) as AskOverHttp;
    const figures = next();
    child.process.send?.(await overHttp(asked, child.pid));
    return (await figures) as GraphFigures;
  } finally {
    await child.stop();
  }
};

const micro = (value: number): string => (value >= 1000 ? `${(value / 1000).toFixed(2)} ms` : `${value.toFixed(1)} us`);
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;
const perMillion = ({ edgeBytes, edges }: GraphFigures): number => (edgeBytes / 1e6 / edges) * 1e6;
const shorter = (what: string, { own, reference }: Pair<Timed>, least: number): Figure => {
  const ratio = reference.p50 / own.p50;
  return {
    what,
    own: `p50 ${micro(own.p50)}, p99 ${micro(own.p99)}`,
    reference: `p50 ${micro(reference.p50)}, p99 ${micro(reference.p99)}`,
    ratio: ratio.toFixed(0),
    target: `>= ${least} times shorter`,
    isMet: ratio >= least,
  };
};
const max = (what: string, own: string, reference: string, ratio: number, target: number): Figure => ({
  what,
  own,
  reference,
  ratio: ratio.toFixed(2),
  target: `<= ${target}`,
  isMet: ratio <= target,
});

/** Questions, build and memory of the whole graph beside the plain driver, and how each grows from a tenth of it. */
export const measureGraph = async (tenth: LoadedGraph, whole: LoadedGraph, rounds: number): Promise<readonly Figure[]> => {
  const small = await figuresOf(tenth, Math.ceil(rounds / 4));
  const large = await figuresOf(whole, rounds);
  const { single, concurrent, facts, served, written, path } = large;
  const targets: Readonly<Record<string, number>> = { capabilities: 60, "data-scope": 50, chain: 60 };
  const grown = (what: string, before: number, after: number, text: (value: number) => string): Figure => ({
    what: `${what}: the whole beside the part`,
    own: text(after),
    reference: text(before),
    ratio: (after / before).toFixed(1),
    target: "",
  });
  const times = concurrent.own / concurrent.reference;
  const perCpu = served.own / served.reference;
  return [
    ...Object.entries(single).map(([name, pair]) => shorter(`${name}, one at a time`, pair, targets[name] ?? 1)),
    {
      what: "the three in turn, 32 at once, answers a second",
      own: concurrent.own.toFixed(0),
      reference: concurrent.reference.toFixed(0),
      ratio: times.toFixed(0),
      target: ">= 20 times",
      isMet: times >= 20,
    },
    shorter("facts, a batch of 100 beside 200 answers", facts, 30),
    {
      what: "capabilities over HTTP, requests a CPU-second, beside an endpoint that knows nothing",
      own: served.own.toFixed(0),
      reference: served.reference.toFixed(0),
      ratio: perCpu.toFixed(2),
      target: ">= 0.7",
      isMet: perCpu >= 0.7,
    },
    ...(["busy", "rebuilt"] as const).flatMap((when) => {
      const { idle, perSecond } = written;
      const one = written[when];
      const changes = `${perSecond.toFixed(0)} changes a second are written${when === "busy" ? "" : " and the graph is read anew"}`;
      return [
        max(
          `capabilities through the service, p99 while ${changes}, beside none`,
          micro(one.p99),
          micro(idle.p99),
          one.p99 / idle.p99,
          2.5,
        ),
        max(
          "the same, delay of the event loop, p99.9",
          `${one.delayMs.toFixed(1)} ms`,
          `${idle.delayMs.toFixed(1)} ms`,
          one.delayMs / idle.delayMs,
          5,
        ),
      ];
    }),
    max(
      "build, beside reading the same rows by a cursor",
      `${large.buildMs.toFixed(0)} ms`,
      `${large.readMs.toFixed(0)} ms`,
      large.buildMs / large.readMs,
      1.8,
    ),
    {
      what: "longest stretch of the event loop while it is built, in processor time",
      own: `${large.maxMs.toFixed(0)} ms`,
      reference: "",
      ratio: "",
      target: "<= 50 ms",
      isMet: large.maxMs <= 50,
    },
    {
      what: "start: from nothing to the first answer out of memory",
      own: `${large.startMs.toFixed(0)} ms`,
      reference: "",
      ratio: "",
      target: "",
    },
    max(
      "memory, beside the tables and their indexes",
      megabytes(large.heldBytes),
      megabytes(whole.bytes),
      large.heldBytes / whole.bytes,
      1.2,
    ),
    {
      what: "edges, MB a million of them",
      own: perMillion(large).toFixed(1),
      reference: "",
      ratio: "",
      target: "<= 48",
      isMet: perMillion(large) <= 48,
    },
    {
      what: "a shortest path from a person to a tool",
      own: `p50 ${micro(path.own.p50)}, p99 ${micro(path.own.p99)}`,
      reference: "",
      ratio: "",
      target: "",
    },
    shorter("edges by kind", { own: path.label, reference: path.labelReference }, 500),
    ...Object.entries(single).map(([name, pair]) => grown(`${name}, p50`, small.single[name]?.own.p50 ?? Number.NaN, pair.own.p50, micro)),
    grown("32 at once, answers a second", small.concurrent.own, concurrent.own, (rate) => rate.toFixed(0)),
    grown("facts, p50", small.facts.own.p50, facts.own.p50, micro),
    grown("over HTTP, requests a CPU-second", small.served.own, served.own, (rate) => rate.toFixed(0)),
    grown("capabilities while changes are written, p99", small.written.busy.p99, written.busy.p99, micro),
    grown("delay of the event loop meanwhile, p99.9", small.written.busy.delayMs, written.busy.delayMs, (ms) => `${ms.toFixed(1)} ms`),
    grown("capabilities while it is read anew, p99", small.written.rebuilt.p99, written.rebuilt.p99, micro),
    grown("build", small.buildMs, large.buildMs, (ms) => `${ms.toFixed(0)} ms`),
    grown("start", small.startMs, large.startMs, (ms) => `${ms.toFixed(0)} ms`),
    grown("memory", small.heldBytes, large.heldBytes, megabytes),
  ];
};
