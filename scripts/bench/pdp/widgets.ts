import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { signInPerson } from "../../../e2e/sign-in.ts";
import { pairs } from "#pdp-client/pairs.ts";
import type { Figure } from "../kit/report.ts";
import { microsecondHistogram } from "../kit/statistics.ts";
import { root, type Bench } from "./world.ts";

const WIDGETS = 100;
const ROUNDS = 150;
const POLICIES = 1000;

/** Sallyport's own policies and as many more, over all its actions, as make a thousand. */
const writeConfig = async (folder: string): Promise<string> => {
  const config = join(folder, "widgets");
  const policies = join(config, "policies");
  await cp(join(root, "config"), config, { recursive: true });
  await cp(join(root, "src/pdp/policies"), policies, { recursive: true });
  const own = (
    await Promise.all(
      ["administration", "boundary", "employees", "identities", "pages", "secrets", "staff", "tools"].map((name) =>
        readFile(join(policies, `${name}.cedar`), "utf8"),
      ),
    )
  ).join("\n");
  const more = POLICIES - (own.match(/@id\(/g)?.length ?? 0);
  const texts = Array.from(
    { length: more },
    (_none, index) => `@id("bench-${index}") @description("Members of one more group")
permit (principal in Group::"group:bench-${index}", action == Action::"${pairs[index % pairs.length]?.key}", resource)
when { context.mfa };`,
  );
  await writeFile(join(policies, "bench.cedar"), texts.join("\n"));
  const file = join(config, "pdp.yaml");
  await writeFile(file, (await readFile(file, "utf8")).replace(/policy_dir: .*/, "policy_dir: policies"));
  return config;
};

/** What a page costs that asks for all its widgets at once, with a session: all new, and again. */
export const measureWidgets = async (bench: Bench): Promise<readonly Figure[]> => {
  const instance = await bench.startInstance(["--config", await writeConfig(bench.folder)]);
  try {
    const origin = `http://localhost:${instance.base}`;
    const person = await signInPerson(origin, "ben");
    const ask = async (run: string): Promise<number> => {
      const body = JSON.stringify({
        evaluations: Array.from({ length: WIDGETS }, (_none, index) => ({
          key: String(index),
          action: { name: "view" },
          resource: { type: "page.widget", id: `people:grid:${run}-${index}` },
        })),
      });
      const started = performance.now();
      const response = await fetch(`${origin}/access/v1/evaluations`, { method: "POST", headers: person.headers, body });
      const text = await response.text();
      const taken = performance.now() - started;
      if (response.status !== 200 || text.includes('"decision":false')) throw new Error(`${response.status}: ${text.slice(0, 300)}`);
      return taken;
    };
    const measure = async (runOf: (round: number) => string) => {
      const histogram = microsecondHistogram();
      for (let round = -20; round < ROUNDS; round++) {
        const taken = await ask(runOf(round));
        if (round >= 0) histogram.record(Math.round(taken * 1000));
      }
      return { p50: histogram.percentile(50) / 1000, p95: histogram.percentile(95) / 1000 };
    };
    const figure = (what: string, { p50, p95 }: { readonly p50: number; readonly p95: number }, goal: number): Figure => ({
      what,
      own: `p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`,
      reference: "",
      ratio: "",
      target: `p95 < 100 ms; goal < ${goal} ms`,
      isMet: p95 < 100,
      isGoalMet: p95 < goal,
    });
    return [
      figure("100 widgets through the gateway, all new", await measure((round) => `n${round}`), 40),
      figure("100 widgets through the gateway, the same again", await measure(() => "same"), 10),
    ];
  } finally {
    await instance.stop();
  }
};
