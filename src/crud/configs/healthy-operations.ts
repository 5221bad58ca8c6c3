import { parsePointer } from "#contract/json-pointer.ts";
import type { Fault } from "#contract/problem.ts";
import type { Prepared, Refused } from "./kinds.ts";

/** Faults of shape, of files referred to, of expressions, of what hangs on what went: each round finds those that the one before hid. */
const MOST_ROUNDS = 8;

/** The operation that a fault is of; undefined: it is of the whole document. */
const operationOf = ({ path }: Fault): string | undefined => {
  const [member, base] = path.startsWith("/") ? parsePointer(path) : [];
  return member === "operations" ? base : undefined;
};

/** Prepares a system without its faulty operations, whose faults it keeps. Cost: one preparation a round. */
export const prepareHealthy = async (prepare: (without: readonly string[]) => Promise<Prepared | Refused>): Promise<Prepared | Refused> => {
  const faults: Fault[] = [];
  const without = new Set<string>();
  for (let round = 1; ; round++) {
    const found = await prepare([...without]);
    if ("place" in found) return { ...found, faults };
    faults.push(...found.faults);
    const bases = found.faults.map(operationOf);
    if (round === MOST_ROUNDS || bases.includes(undefined)) return { name: found.name, faults };
    for (const base of bases) if (base !== undefined) without.add(base);
  }
};
