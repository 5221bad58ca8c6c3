import { readFileSync } from "node:fs";

/** Clock ticks a second of /proc/<pid>/stat; Linux has had 100 on every platform that we run on. */
const TICKS = 100;

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

const childrenOf = (pid: number): number[] =>
  read(`/proc/${pid}/task/${pid}/children`)
    .split(" ")
    .filter((text) => text !== "")
    .map(Number);

/** Every process below `pid`, itself first. */
const processTree = (pid: number): readonly number[] => [pid, ...childrenOf(pid).flatMap(processTree)];

/**
 * CPU seconds that a process and all its living descendants have used so far, all threads, user and kernel: nginx's workers
 * count with their master, a garbage collector's threads with their program. Linux only; steps of 10 ms.
 */
export const cpuSeconds = (pid: number): number =>
  processTree(pid).reduce((sum, one) => {
    // The command's name may hold spaces and brackets; what follows its last bracket does not.
    const fields = read(`/proc/${one}/stat`).split(") ").at(-1)?.split(" ") ?? [];
    return sum + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS;
  }, 0);

/** Resident memory of a process and its descendants, in bytes. */
export const residentBytes = (pid: number): number =>
  processTree(pid).reduce((sum, one) => sum + Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${one}/status`))?.[1] ?? 0) * 1024, 0);
