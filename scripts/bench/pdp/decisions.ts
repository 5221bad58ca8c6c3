import { once } from "node:events";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { medianOf } from "../kit/statistics.ts";
import { runWrk, type WrkResult } from "../kit/wrk.ts";
import { question, requestsOf, writeRules, type Kind } from "./rules.ts";
import type { Bench, Candidate } from "./world.ts";

const CONNECTIONS = 32;
const BATCH = 50;
/** Batches keep few connections busy; more would only wait for one another. */
const BATCH_CONNECTIONS = 4;
/** More than a round can ask of one kind, so that no question comes twice. */
const DISTINCT = 30_000;

export interface Effort {
  readonly rounds: number;
  readonly seconds: number;
  /** Numbers of policies. */
  readonly sizes: readonly number[];
}

/** Both sides answer the first questions alike, or the figures compare different things. */
const compare = async (instance: Candidate, cerbos: Candidate, rules: number): Promise<void> => {
  const ask = async ({ port, token }: Candidate, body: unknown): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/access/v1/evaluation`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { decision?: unknown }).decision;
  };
  let permits = 0;
  for (let number = 0; number < 200; number++) {
    const body = question(number, rules, number % 2 === 0 ? "view" : "act", "check");
    const [own, other] = [await ask(instance, body), await ask(cerbos, body)];
    if (typeof own !== "boolean" || own !== other)
      throw new Error(`${JSON.stringify(body)}: ${String(own)} here, ${String(other)} by Cerbos`);
    if (own) permits += 1;
  }
  if (permits === 0) throw new Error("nothing was permitted");
};

const perSecond = (rounds: readonly WrkResult[]): number => medianOf(rounds, (round) => round.perSecond);
const perCpuSecond = (rounds: readonly WrkResult[]): number => medianOf(rounds, (round) => round.perCpuSecond);
const shown = (rounds: readonly WrkResult[], items: number): string =>
  `${Math.round(perSecond(rounds) * items).toLocaleString("en-US")}/s, p99 ${(medianOf(rounds, (round) => round.p99) / 1000).toFixed(1)} ms`;

/** Single questions and batches over HTTP, each of them new, beside Cerbos with the same rules on the same core. */
export const measureDecisions = async (bench: Bench, effort: Effort): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  for (const rules of effort.sizes) {
    const folders = await writeRules(bench.folder, rules);
    const instance = await bench.startInstance(["--serve", "pdp,issuer", "--config", folders.instance, "--no-demo"]);
    const cerbos = await bench.startCerbos(folders.cerbos);
    const recording = await bench.startCerbos(folders.cerbos, "decisions");
    try {
      await compare(instance, cerbos, rules);
      await compare(instance, recording, rules);
      let run = 0;
      const measure = async (candidate: Candidate, kind: Kind, batch: number, isRepeated = false): Promise<WrkResult> =>
        runWrk({
          port: candidate.port,
          requests: requestsOf(candidate.token, {
            requests: isRepeated ? 500 : Math.ceil(DISTINCT / batch),
            batch,
            rules,
            kind,
            run: isRepeated ? "same" : `r${(run += 1)}`,
          }),
          seconds: effort.seconds,
          connections: batch === 1 ? CONNECTIONS : BATCH_CONNECTIONS,
          folder: bench.folder,
          pids: [candidate.program.pid],
        });
      const rounds = async (kind: Kind, batch: number, isRepeated = false, beside = cerbos) => {
        const own: WrkResult[] = [];
        const reference: WrkResult[] = [];
        for (let round = 0; round < effort.rounds; round++) {
          own.push(await measure(instance, kind, batch, isRepeated));
          reference.push(await measure(beside, kind, batch, isRepeated));
        }
        return { own, reference };
      };
      const add = (what: string, items: number, found: Awaited<ReturnType<typeof rounds>>, target?: number): void => {
        const ratio = perSecond(found.own) / perSecond(found.reference);
        say(`${what}: ${shown(found.own, items)} beside ${shown(found.reference, items)}, ratio ${ratio.toFixed(2)}`);
        figures.push({
          what,
          own: shown(found.own, items),
          reference: shown(found.reference, items),
          ratio: `${ratio.toFixed(2)} (a CPU second ${(perCpuSecond(found.own) / perCpuSecond(found.reference)).toFixed(2)})`,
          target: target === undefined ? "" : `>= ${target} x`,
          ...(target === undefined ? {} : { isMet: ratio >= target }),
        });
      };
      // Neither side is measured cold.
      await measure(instance, "view", 1);
      await measure(cerbos, "view", 1);
      await measure(recording, "view", 1);
      const target = rules === 1000 ? 0.8 : undefined;
      add(`${rules} policies, single, new each time, looking`, 1, await rounds("view", 1), target);
      add(`${rules} policies, single, new each time, acting (record committed before the answer)`, 1, await rounds("act", 1));
      if (rules === 1000) {
        add(
          `${rules} policies, single, new each time, looking; Cerbos keeps its decision log`,
          1,
          await rounds("view", 1, false, recording),
          target,
        );
        add(`${rules} policies, single, the same 500 again and again, looking`, 1, await rounds("view", 1, true));
      }
      const batches = () => rounds("view", BATCH);
      instance.program.process.send("watch");
      add(`${rules} policies, items of batches of ${BATCH}, looking`, BATCH, await batches());
      instance.program.process.send("delay");
      const [delay] = (await once(instance.program.process, "message")) as [{ p50: number; p99: number; max: number }];
      figures.push({
        what: `${rules} policies, delay of the event loop meanwhile, p99`,
        own: `${delay.p99.toFixed(1)} ms (most ${delay.max.toFixed(1)})`,
        reference: "8 ms",
        ratio: (delay.p99 / 8).toFixed(2),
        target: "<= 1.25 x",
        isMet: delay.p99 <= 10,
      });
    } finally {
      await instance.stop();
      await cerbos.stop();
      await recording.stop();
    }
  }
  return figures;
};
