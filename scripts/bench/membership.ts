import { cpus, loadavg } from "node:os";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { startPostgresServer } from "#testing/postgres-server.ts";
import { pinning } from "./kit/programs.ts";
import type { Figure, Section } from "./kit/report.ts";
import { measureGraph } from "./membership/graph.ts";
import { loadGraph } from "./membership/load.ts";
import { measureReplicas } from "./membership/replicas.ts";

export const membershipOptions = {
  rounds: { type: "string", default: "2000" },
  revocations: { type: "string", default: "200" },
  short: { type: "boolean" },
} as const satisfies ParseArgsOptionsConfig;

/** The graph in memory beside named statements of the plain driver. `--rounds 2000` questions, `--revocations 200`; `--short` a tenth of all, in under two minutes. */
export const benchMembership = async (argv: readonly string[]): Promise<Section> => {
  const { values } = parseArgs({ args: [...argv], options: membershipOptions });
  const isShort = values.short === true;
  const rounds = isShort ? 300 : Number(values.rounds);
  const revocations = isShort ? 20 : Number(values.revocations);
  const stopMs = isShort ? 2_000 : 10_000;
  const figures: Figure[] = [];
  await using stack = new AsyncDisposableStack();
  const postgres = await startPostgresServer();
  stack.defer(() => postgres.stop());
  const tenth = await loadGraph(postgres.url, "bench_tenth", isShort ? 0.02 : 0.1);
  const whole = await loadGraph(postgres.url, "bench_whole", isShort ? 0.1 : 1);
  figures.push(...(await measureGraph(tenth, whole, rounds)));
  figures.push(...(await measureReplicas(whole, revocations, stopMs)));
  return {
    title: "Graph in memory",
    conditions: [
      `Load average of the machine when the run ended: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(", ")} on ${cpus().length} cores.`,
      `${whole.nodes} nodes, ${whole.edges} edges and ${whole.delegations} delegations of \`npm run graph -- generate\` (seed 42), and a part of it with ${tenth.nodes} nodes; ${pinning}.`,
      "Reference of questions: the statements of the SQL reader, by name, on one connection of the plain driver (32 at once: on eight), of the same rows in the same process, in turn.",
      `Questions: ${rounds} different ones each. Replicas: two and three processes on one PostgreSQL that ask every millisecond; ${revocations} revocations each, the time from the commit's answer to the first empty answer on each of the others.`,
      "Memory: heap and buffers of the process after a full collection, less what it had before the graph was read.",
    ],
    figures,
  };
};
