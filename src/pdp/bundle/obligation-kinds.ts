import type { Obligation } from "#contract/authzen.ts";
import { obligationKinds, type ObligationRow } from "#contract/obligations.ts";
import { shownFile, type Finding } from "./findings.ts";
import { canMerge } from "./merge-properties.ts";
import type { ObligationKind } from "./named-files.ts";

const kinds: Readonly<Record<string, ObligationRow>> = obligationKinds;

/** True of the plain form of an obligation that Sallyport meets itself. */
export const isBuiltInObligation = (name: string): boolean => Object.hasOwn(kinds, name);

/** True: one that Sallyport makes itself, of the right form. `undefined`: none of Sallyport's. */
export const isWellFormed = (obligation: Obligation): boolean | undefined => {
  const kind = Object.hasOwn(kinds, obligation.id) ? kinds[obligation.id] : undefined;
  return kind === undefined ? undefined : obligation.type === kind.type && kind.properties.safeParse(obligation.properties ?? {}).success;
};

const file = shownFile("obligations.yaml");

/** Issues of the declared obligations: unknown ids, wrong types, wrong properties, and forms of one id that cannot both hold. */
export const lintObligations = (declared: ReadonlyMap<string, ObligationKind>, issues: Finding[]): void => {
  const firstOf = new Map<string, ObligationKind>();
  for (const [name, row] of declared) {
    const id = row.id ?? name;
    const report = (message: string): void => void issues.push({ path: name, file, message });
    const kind = Object.hasOwn(kinds, id) ? kinds[id] : undefined;
    if (kind === undefined) {
      report(`declares ${id}, which the decision point cannot make`);
      continue;
    }
    if (row.type !== kind.type) report(`${name} must have the type ${kind.type}`);
    const read = kind.properties.safeParse(row.properties);
    for (const issue of read.success ? [] : read.error.issues)
      report(`${name}: /properties/${issue.path.map(String).join("/")} ${issue.message}`);
    const first = firstOf.get(id);
    if (first === undefined) firstOf.set(id, row);
    else
      for (const [member, value] of Object.entries(row.properties)) {
        const held = first.properties[member];
        if (held !== undefined && !canMerge(member, held, value))
          report(`${name} has another ${member} than the first ${id}, and there is no narrower of the two`);
      }
  }
};
