import { setTimeout as pause } from "node:timers/promises";
import { fetchToken } from "../../../e2e/tokens.ts";
import { residentBytes } from "../kit/process-cpu.ts";
import { say } from "../kit/progress.ts";
import type { Figure } from "../kit/report.ts";
import { question, writeRules } from "./rules.ts";
import type { Bench, Candidate } from "./world.ts";

const RULES = 1000;
/** Of so many questions in a row all but the last few go in one batch, the others singly: every way in has its own leaks. */
const ROW = 100;
const SINGLE = 10;
/** Rows under way at once. */
const LANES = 8;
/** Enough to fill every memory that is bounded, the 50,000 judgements kept among them. */
const WARMING_DECISIONS = 100_000;
const WARMING_ACTIVATIONS = 20;
/** A strong sign-in counts for 300 s, and its one-time code for one sign-in. */
const TOKEN_MS = 120_000;
const MAX = 1.2;

export interface MemoryEffort {
  readonly decisions: number;
  readonly activations: number;
}

interface Memory {
  /** JavaScript objects, buffers and Cedar's own memory, in bytes. */
  readonly held: number;
  readonly cedar: number;
  readonly resident: number;
}

const call = async (
  { port, token }: Pick<Candidate, "port" | "token">,
  path: string,
  body?: unknown,
): Promise<Readonly<Record<string, unknown>>> => {
  const response = await fetch(`http://127.0.0.1:${port}/access/v1/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
};

const measure = async ({ program }: Candidate): Promise<Memory> => {
  // What was answered before its record was written is still on its way.
  await pause(2000);
  const { heapUsed, external, webAssembly } = await program.memory();
  return { held: heapUsed + external + webAssembly, cedar: webAssembly, resident: residentBytes(program.pid) };
};

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;

const figuresOf = (what: string, before: string, after: Memory, warm: Memory): readonly Figure[] => {
  const ratio = after.held / warm.held;
  say(`${what}: ${megabytes(after.held)} beside ${megabytes(warm.held)}, resident ${megabytes(after.resident)}`);
  const row = (name: string, pick: (memory: Memory) => number): Figure => ({
    what: name,
    own: megabytes(pick(after)),
    reference: `${megabytes(pick(warm))} after ${before}`,
    ratio: (pick(after) / pick(warm)).toFixed(2),
    target: "",
  });
  return [
    { ...row(`memory after ${what}`, ({ held }) => held), target: `<= ${MAX} x`, isMet: ratio <= MAX },
    row("of it Cedar's own", ({ cedar }) => cedar),
    row("resident then, what V8 keeps for itself included", ({ resident }) => resident),
  ];
};

/** Asks the questions of these numbers, each once; throws unless every one is decided. */
const askRow = async (instance: Candidate, from: number, count: number): Promise<void> => {
  const numbers = Array.from({ length: count }, (_none, index) => from + index);
  const singles = numbers.slice(-SINGLE);
  const evaluations = numbers.slice(0, -SINGLE).map((number) => question(number, RULES, "view", "memory"));
  if (evaluations.length > 0) {
    const { evaluations: answers } = (await call(instance, "evaluations", { evaluations })) as { evaluations?: readonly unknown[] };
    if (answers?.length !== evaluations.length) throw new Error(`${evaluations.length} questions, ${answers?.length} answers`);
  }
  for (const number of singles) {
    const { decision } = await call(instance, "evaluation", question(number, RULES, number % 2 === 0 ? "view" : "act", "memory"));
    if (typeof decision !== "boolean") throw new Error("no decision");
  }
};

const askAll = async (instance: Candidate, from: number, count: number): Promise<void> => {
  let next = from;
  const end = from + count;
  const lane = async (): Promise<void> => {
    while (next < end) {
      const start = next;
      next = Math.min(end, start + ROW);
      await askRow(instance, start, next - start);
      if (next % 100_000 < ROW) say(`${next - from} of ${count} decisions`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
};

const measureAsking = async (bench: Bench, decisions: number): Promise<readonly Figure[]> => {
  const folders = await writeRules(bench.folder, RULES);
  const instance = await bench.startInstance(["--serve", "pdp,issuer", "--config", folders.instance, "--no-demo"]);
  try {
    await askAll(instance, 0, WARMING_DECISIONS);
    const warm = await measure(instance);
    await askAll(instance, WARMING_DECISIONS, decisions);
    const after = await measure(instance);
    const count = (number: number): string => number.toLocaleString("en-US");
    return figuresOf(`${count(decisions)} decisions, none asked twice`, `${count(WARMING_DECISIONS)}`, after, warm);
  } finally {
    await instance.stop();
  }
};

const measureActivating = async (bench: Bench, activations: number): Promise<readonly Figure[]> => {
  const instance = await bench.startInstance([]);
  try {
    let ada = { port: instance.port, token: "", until: 0 };
    /** As a person does it: a draft with one policy changed, a look at the matrix, and from then on it decides. */
    const activate = async (number: number): Promise<void> => {
      if (performance.now() > ada.until)
        ada = { ...ada, token: await fetchToken(instance.base, { user: "ada", acr: "strong" }), until: performance.now() + TOKEN_MS };
      const policy = `@id("bench-activation")
@description("Activation ${number}")
permit (principal in Group::"group:bench-${number}", action == Action::"pages:view_all", resource);
`;
      const drafted = await call(ada, "policies/rollouts", { files: { "policies/bench.cedar": policy }, message: `Activation ${number}` });
      const { version } = drafted["rollout"] as { readonly version: string };
      const path = `policies/rollouts/${encodeURIComponent(version)}`;
      const { digest } = await call(ada, `${path}/matrix`);
      await call(ada, `${path}/promote`, { to: "active", acknowledged_diff: digest });
      const evaluations = Array.from({ length: 100 }, (_none, index) => ({
        subject: { type: "identity", id: "person:ben" },
        action: { name: "view" },
        resource: { type: "page.widget", id: `people:grid:${number}-${index}` },
      }));
      await call(instance, "evaluations", { evaluations });
      if (number % 20 === 0) say(`${number} activations`);
    };
    for (let number = 1; number <= WARMING_ACTIVATIONS; number++) await activate(number);
    const warm = await measure(instance);
    for (let number = 1; number <= activations; number++) await activate(WARMING_ACTIVATIONS + number);
    return figuresOf(`${activations} activations of policies`, `${WARMING_ACTIVATIONS}`, await measure(instance), warm);
  } finally {
    await instance.stop();
  }
};

/** What a decision point that has long been at work holds, beside the same one after its warm-up. */
export const measureMemory = async (bench: Bench, effort: MemoryEffort): Promise<readonly Figure[]> => [
  ...(effort.decisions === 0 ? [] : await measureAsking(bench, effort.decisions)),
  ...(effort.activations === 0 ? [] : await measureActivating(bench, effort.activations)),
];
