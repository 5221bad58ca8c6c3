import type { DefinitionChange } from "#contract/configs.ts";
import { usdFromMicro } from "#contract/ids.ts";
import { pointerText } from "#contract/json-pointer.ts";
import { canonicalText } from "./digest.ts";
import type { FileMask, Tool } from "./tool.ts";

/** What a call meets besides the definition: every member of its rules that is data. */
const rulesOf = ({ state, rules }: Tool) => ({
  cost_usd: usdFromMicro(rules.reserveMicro),
  scopes: rules.scopes,
  masks: rules.masks.map(({ pointer, kind, unlessAllowed = null }) => ({ path: pointerText(pointer), kind, unlessAllowed })),
  step_up: rules.stepUp === undefined ? null : { ...rules.stepUp },
  state,
  timeout_ms: rules.timeoutMs,
  app: rules.app ?? null,
  questions: rules.mappings.map(({ pairs }) => pairs),
  rows:
    rules.rows === undefined ? null : [rules.rows.resourceType, rules.rows.rows, [...rules.rows.columns], rules.rows.guard !== undefined],
  hints: [rules.isReadOnly, rules.isDestructive],
  wanted_rows: rules.wantedRows ?? null,
  input_check: rules.inputCheck?.digest ?? null,
});

/** A mask went, shows something else, or may be lifted where it could not be. */
const isWeaker = (before: readonly FileMask[], after: readonly FileMask[]): boolean =>
  before.some(
    (mask) =>
      !after.some(
        ({ pointer, kind, unlessAllowed }) =>
          pointerText(pointer) === pointerText(mask.pointer) &&
          kind === mask.kind &&
          (unlessAllowed === undefined || unlessAllowed === mask.unlessAllowed),
      ),
  );

const kinds: Readonly<Partial<Record<string, DefinitionChange["kind"]>>> = { cost_usd: "cost", scopes: "scope", masks: "mask" };

/** How the rules of a call differ where the definition need not; paths begin with `/rules`. All are to be looked at. Cost: O(rules). */
export const ruleChanges = (was: Tool, tool: Tool): readonly DefinitionChange[] => {
  const [before, after] = [rulesOf(was), rulesOf(tool)];
  return (Object.keys(after) as (keyof typeof after)[])
    .filter((name) => canonicalText(before[name]) !== canonicalText(after[name]))
    .map((name) => ({
      path: `/rules/${name}`,
      kind: name === "masks" && isWeaker(was.rules.masks, tool.rules.masks) ? "mask_weakened" : (kinds[name] ?? "rule"),
      before: before[name],
      after: after[name],
      risk: "review",
    }));
};
