import { cpus, loadavg } from "node:os";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { pinning } from "./kit/programs.ts";
import type { Section } from "./kit/report.ts";
import { measureDecisions } from "./pdp/decisions.ts";
import { measureMemory } from "./pdp/memory.ts";
import { measureWidgets } from "./pdp/widgets.ts";
import { openBench } from "./pdp/world.ts";

export const pdpOptions = {
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "4" },
  only: { type: "string" },
  sizes: { type: "string", default: "10,100,1000" },
  decisions: { type: "string", default: "1000000" },
  activations: { type: "string", default: "200" },
} as const satisfies ParseArgsOptionsConfig;

/** Decisions beside Cerbos, a page's widgets through the gateway, and memory. `--rounds N`, `--seconds N` a round, `--sizes 10,100,1000` policies,
 * `--only decisions,widgets,memory`; for the last `--decisions 1000000` and `--activations 200`. */
export const benchPdp = async (argv: readonly string[]): Promise<Section> => {
  const { values } = parseArgs({ args: [...argv], options: pdpOptions });
  const effort = {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    sizes: values.sizes.split(",").map(Number),
    decisions: Number(values.decisions),
    activations: Number(values.activations),
  };
  const parts = { decisions: measureDecisions, widgets: measureWidgets, memory: measureMemory };
  const chosen = values.only?.split(",") ?? Object.keys(parts);
  await using bench = await openBench();
  const figures = [];
  for (const [name, measure] of Object.entries(parts)) if (chosen.includes(name)) figures.push(...(await measure(bench, effort)));
  return {
    title: "Decision point",
    conditions: [
      `Load average of the machine when the run ended: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(", ")} on ${cpus().length} cores.`,
      `${effort.rounds === 1 ? "One round" : `Median of ${effort.rounds} rounds`} of ${effort.seconds} s, taken in turn with the reference; ${pinning}.`,
      "Decisions: `npm start -- --serve pdp,issuer --no-demo` on PostgreSQL, facts from a file, bearer auth, answers bare, log level warn, records on and signed into the audit log. Cerbos 0.55.0 over its AuthZEN endpoints, GOMAXPROCS=1, log level error, without its audit log but in the row that says so (there its decision log, in a file). The same bytes to both; one rule an action; wrk, 32 connections, 4 for batches.",
      "Nine of ten are permitted. Looking: the record of a permit follows the answer within 50 ms. Acting, and every denial: it is committed before the answer.",
      "Widgets: the demo instance in one process on PostgreSQL, a browser session, 1,000 policies, one batch of 100 widgets after the other.",
      "Memory: JavaScript objects and buffers after a full collection, and Cedar's own; decisions as above with 1,000 policies, nine of ten in batches of 90; activations in the demo instance on PostgreSQL, each a draft of its own with one policy changed, its matrix looked at, 100 widgets asked under it.",
    ],
    figures,
  };
};
