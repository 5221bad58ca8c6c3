import { readFile } from "node:fs/promises";
import { z } from "zod";
import { factDelegation, factResource, factSubject, facts as factsSchema, type FactAsk, type Facts } from "#contract/facts.ts";
import { bareResource } from "#pdp/facts/no-facts.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import type { KnownDecisions } from "./matrix.ts";
import type { DecisionFacts } from "#pdp/model/decision-facts.ts";

/**
 * The demo world's facts as far as the matrix asks for them, so that any version can be drawn anywhere, whatever the graph of
 * Sallyport holds: a file of lines, each a part by its number or an ask with the numbers of its parts. `npm run matrix` writes it.
 */
const lines = z.discriminatedUnion("is", [
  z.strictObject({ is: z.literal("subject"), n: z.number(), value: factSubject }),
  z.strictObject({ is: z.literal("agent"), n: z.number(), value: factsSchema.shape.agent.unwrap() }),
  z.strictObject({ is: z.literal("delegation"), n: z.number(), value: factDelegation }),
  z.strictObject({ is: z.literal("resource"), n: z.number(), value: factResource }),
  z.strictObject({
    is: z.literal("ask"),
    ask: z.string(),
    subject: z.number().optional(),
    agent: z.number().optional(),
    delegation: z.number().optional(),
    resource: z.number().optional(),
    /** Those that hold of capability, chain and definition_ok. */
    holds: z.array(z.enum(["capability", "chain", "definition_ok"])),
  }),
]);
type Line = z.infer<typeof lines>;

const parts = ["subject", "agent", "delegation", "resource"] as const;
const flags = ["capability", "chain", "definition_ok"] as const;

/** A collection is no node: what is asked of it does not matter for the facts. */
const keyOf = (ask: FactAsk): string =>
  [
    ask.subject_id,
    (ask.agent_ids ?? []).join("+"),
    ...(ask.resource.external_id === "*" ? ["*"] : [ask.action, ask.resource.type, ask.resource.external_id]),
  ].join(" ");

/** Whether it is over is in its status; the moment would differ with every drawing. */
const timeless = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "expires_at" in value ? { ...value, expires_at: null } : value;

/** The lines for what was asked, in byte order. */
export const writeMatrixFacts = (asked: readonly (readonly [FactAsk, Facts])[]): string => {
  const numbers = new Map<string, number>();
  const made: string[] = [];
  const numberOf = (is: (typeof parts)[number], value: unknown): number => {
    const key = `${is} ${JSON.stringify(value)}`;
    const known = numbers.get(key);
    if (known !== undefined) return known;
    const n = numbers.size + 1;
    numbers.set(key, n);
    made.push(JSON.stringify({ is, n, value }));
    return n;
  };
  const byKey = new Map(asked.map(([ask, facts]) => [keyOf(ask), facts]));
  const asks = [...byKey]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([ask, facts]) => {
      const named = Object.fromEntries(parts.flatMap((is) => (facts[is] === null ? [] : [[is, numberOf(is, timeless(facts[is]))]])));
      return JSON.stringify({ is: "ask", ask, ...named, holds: flags.filter((flag) => facts[flag]) });
    });
  return [...made, ...asks, ""].join("\n");
};

/** Facts out of such lines. An ask that was never written throws: a new row of the matrix needs `npm run matrix`. */
const readMatrixFacts = (text: string): FactSource => {
  const held = new Map<number, Extract<Line, { readonly value: unknown }>["value"]>();
  const asks = new Map<string, Extract<Line, { readonly is: "ask" }>>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const read = lines.parse(JSON.parse(line));
    if (read.is === "ask") asks.set(read.ask, read);
    else held.set(read.n, read.value);
  }
  const factsOf = (ask: FactAsk): Facts => {
    const found = asks.get(keyOf(ask));
    if (found === undefined) throw new RangeError(`the matrix has no facts for ${keyOf(ask)}: npm run matrix`);
    const part = (is: (typeof parts)[number]) => (found[is] === undefined ? null : held.get(found[is]));
    return factsSchema.parse({
      ...Object.fromEntries(parts.map((is) => [is, part(is)])),
      ...Object.fromEntries(flags.map((flag) => [flag, found.holds.includes(flag)])),
      edges: [],
    });
  };
  return { gather: async (wanted) => ({ graphVersion: 1, facts: wanted.map(factsOf) }), ready: async () => true };
};

export const matrixFactsFile = new URL("./matrix-facts.jsonl", import.meta.url);
export const openMatrixFacts = async (): Promise<FactSource> => readMatrixFacts(await readFile(matrixFactsFile, "utf8"));

/** Decisions that the matrix asks about. */
export const matrixDecisions: KnownDecisions = {
  ben: "d_01JDBEN0000000000000000000",
  cleo: "d_01JDC1E0000000000000000000",
  cleoReporter: "d_01JDREP0000000000000000000",
};

/** Three decisions as if on record. */
export const matrixDecisionFacts: DecisionFacts = {
  resources: async () =>
    new Map(
      [
        [matrixDecisions.ben, "person:ben"] as const,
        [matrixDecisions.cleo, "person:cleo"] as const,
        [matrixDecisions.cleoReporter, "person:cleo"] as const,
      ].map(([id, owner]) => [id, bareResource(id, "Decision", ["tenant:acme"], [owner])]),
    ),
  permittedCall: async () => undefined,
};
