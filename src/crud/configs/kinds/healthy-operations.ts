import { parsePointer } from "#contract/json-pointer.ts";
import type { Issue } from "#contract/problem.ts";
import type { Refused } from "#crud/configs/config-kind.ts";

/** Issues of shape, of files referred to, of expressions, of what hangs on what went: each round finds those that the one before hid. */
const MAX_ROUNDS = 8;

/** The operation that an issue is of; undefined: it is of the whole document. */
const operationOf = ({ path }: Issue): string | undefined => {
  const [member, base] = path.startsWith("/") ? parsePointer(path) : [];
  return member === "operations" ? base : undefined;
};

/** Prepares a system without its faulty operations, whose issues it keeps. Cost: one preparation a round. */
export const prepareHealthy = async <T extends { readonly issues: readonly Issue[]; place(): void }>(
  prepare: (without: readonly string[]) => Promise<T | Refused>,
): Promise<T | Refused> => {
  const issues: Issue[] = [];
  const without = new Set<string>();
  for (let round = 1; ; round++) {
    const found = await prepare([...without]);
    if ("place" in found) return { ...found, issues };
    issues.push(...found.issues);
    const bases = found.issues.map(operationOf);
    if (round === MAX_ROUNDS || bases.includes(undefined)) return { name: found.name, issues };
    for (const base of bases) if (base !== undefined) without.add(base);
  }
};
