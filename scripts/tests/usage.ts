import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { isMainThread } from "node:worker_threads";

/** What one test file cost: seconds of processor, of it and of the processes that it waited for, and seconds from start to end. */
export interface Usage {
  readonly file: string;
  readonly cpu: number;
  readonly wall: number;
}

const TICKS_A_SECOND = 100;

/** Processor time of the children that have ended; Linux alone tells. */
const childrenSeconds = (): number => {
  try {
    // Behind the name, which may hold spaces, the fields are state, parent and so on: the 14th and 15th are of the children.
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND;
  } catch {
    return 0;
  }
};

/** Imported ahead of every test file of `npm test -- --profile`: the last thing that its process does is to say what it cost. */
const target = process.env["SALLYPORT_TEST_USAGE"];
if (target !== undefined && isMainThread && process.env["NODE_TEST_CONTEXT"] !== undefined)
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const usage: Usage = {
      file: relative(process.cwd(), process.argv[1] ?? ""),
      cpu: (userCPUTime + systemCPUTime) / 1e6 + childrenSeconds(),
      wall: performance.now() / 1000,
    };
    appendFileSync(target, `${JSON.stringify(usage)}\n`);
  });

const SLOWEST = 40;

/** The costliest files first, then the sum: lines that a person reads. */
export const tellUsage = (text: string): readonly string[] => {
  const all = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Usage)
    .toSorted((one, other) => other.cpu - one.cpu);
  const sum = (pick: (usage: Usage) => number): number => all.reduce((total, usage) => total + pick(usage), 0);
  const row = (cpu: number, wall: number, name: string): string => `${cpu.toFixed(1).padStart(8)}${wall.toFixed(1).padStart(9)}  ${name}`;
  return [
    "   CPU s   wall s  file",
    ...all.slice(0, SLOWEST).map(({ cpu, wall, file }) => row(cpu, wall, file)),
    row(
      sum(({ cpu }) => cpu),
      sum(({ wall }) => wall),
      `all ${all.length} files`,
    ),
  ];
};
