import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startProgram, type Program } from "../kit/programs.ts";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { spread } from "../kit/statistics.ts";
import type { LoadedGraph } from "./load.ts";

/** `watch`: tell when the delegation is seen revoked; `ask`: the first answer must be that already. */
export type ToReplica =
  | { readonly do: "revoke"; readonly delegationId: string }
  | { readonly do: "watch" | "ask"; readonly delegationId: string; readonly userId: string };
interface Received {
  /** Microseconds of the machine's clock. */
  readonly at: number;
  readonly source: "index" | "sql";
  readonly answers: number;
}

const POLL_MS = 100;
const BOUND_MS = 500;
const program = join(import.meta.dirname, "../programs/graph-replica.ts");

const cores = { two: ["measured", "others"], three: ["measured", "measured", "others"] } as const;

const startReplicas = (url: string, word: "hearing" | "deaf", count: keyof typeof cores): Promise<readonly Program[]> =>
  Promise.all(
    cores[count].map((core) =>
      startProgram(process.execPath, ["--disable-warning=ExperimentalWarning", program, url, String(POLL_MS), String(BOUND_MS), word], {
        core,
        environment: { ENVIRONMENT: "test" },
        ready: "replica is ready",
      }),
    ),
  );

const reported = async (replica: Program, message: ToReplica): Promise<Received> => {
  const received = once(replica.process, "message");
  replica.process.send(message);
  return ((await received) as [Received])[0];
};

/** Milliseconds from the commit's answer on the first to the first right answer on each of the others, in order. */
const revokeMany = async (replicas: readonly Program[], numbers: readonly number[]): Promise<readonly number[]> => {
  const [writer, ...others] = replicas as [Program, ...Program[]];
  const taken: number[] = [];
  for (const number of numbers) {
    const delegationId = `delegation:b${number}`;
    const watching = others.map(async (other) => {
      await reported(other, { do: "watch", delegationId, userId: `person:p${number}` });
      return ((await once(other.process, "message")) as [Received])[0];
    });
    await pause(Math.random() * POLL_MS);
    const { at } = await reported(writer, { do: "revoke", delegationId });
    for (const received of await Promise.all(watching)) taken.push(Math.max(0, received.at - at) / 1000);
  }
  return taken.sort((one, other) => one - other);
};

/** A revocation on one replica, seen on the others; and on one that stood still meanwhile. */
export const measureReplicas = async (graph: LoadedGraph, revocations: number, stopMs: number): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  let next = 0;
  const numbers = (count: number): number[] => Array.from({ length: count }, () => next++ * 5);
  for (const [count, word, farthest] of [
    ["three", "hearing", 0.5],
    ["three", "deaf", 2.5],
    ["two", "hearing", 0.5],
    ["two", "deaf", 2.5],
  ] as const) {
    say(`${count} replicas, ${word} ...`);
    const replicas = await startReplicas(graph.url, word, count);
    try {
      const { text, p99, max } = spread(await revokeMany(replicas, numbers(revocations)));
      figures.push({
        what: `revoked on one of ${count} replicas, refused on the other${count === "three" ? "s" : ""}${word === "deaf" ? ", every hint lost" : ""}`,
        own: text,
        reference: `${POLL_MS} ms between two looks`,
        ratio: (p99 / POLL_MS).toFixed(2),
        target: `<= ${farthest}, never over ${BOUND_MS} ms`,
        isMet: p99 / POLL_MS <= farthest && max <= BOUND_MS,
      });
      if (word === "deaf" || count === "two") continue;
      const [writer, stopped] = replicas as [Program, Program];
      const [number = 0] = numbers(1);
      const delegationId = `delegation:b${number}`;
      process.kill(stopped.pid, "SIGSTOP");
      await pause(stopMs / 2);
      await reported(writer, { do: "revoke", delegationId });
      await pause(stopMs / 2);
      stopped.process.send({ do: "ask", delegationId, userId: `person:p${number}` } satisfies ToReplica);
      process.kill(stopped.pid, "SIGCONT");
      await once(stopped.process, "message");
      const [first] = (await once(stopped.process, "message")) as [Received];
      figures.push({
        what: `a replica stopped for ${stopMs / 1000} s, revoked meanwhile: its first answer`,
        own: `right, by ${first.source}`,
        reference: "",
        ratio: "",
        target: "right",
        isMet: first.answers === 1,
      });
    } finally {
      await Promise.all(replicas.map((replica) => replica.stop()));
    }
  }
  return figures;
};
