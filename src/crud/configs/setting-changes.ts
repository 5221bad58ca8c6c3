import type { DefinitionChange } from "#contract/configs.ts";
import { isObject } from "#contract/is-object.ts";
import type { Yield } from "#http/yielding.ts";
import { shown } from "#crud/mcp/definition-changes.ts";
import { toolRules } from "#crud/systems/tool-rules.ts";
import { documentChanges } from "./document-changes.ts";

/** Members that hold what is told of each tool, operation and view by itself. */
const REPORTED = new Set(["operations", "views", "overrides"]);
/** Of an operation, those that its tool's definition and rules report; tests change no call. */
const REPORTED_OF_TOOL: ReadonlySet<string> = new Set([
  ..."title description input annotations tests".split(" "),
  ...Object.values(toolRules).flatMap(({ members }) => members),
]);
/** Of each member: one with a thousand of them must not hide the next. */
const MAX_CHANGES = 50;

const without = (value: unknown, reported: ReadonlySet<string>): Readonly<Record<string, unknown>> =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !reported.has(name))) : {};

/**
 * How a document differs outside what is told of its tools: networks, credential, tenants, owner, defaults and whatever else it comes to
 * have, and of operations that stay what is sent and how. All are to be looked at. Others have their turn between two
 * operations. Cost: O(both documents).
 */
export const settingChanges = async (before: unknown, after: unknown, pause: Yield): Promise<readonly DefinitionChange[]> => {
  const found: DefinitionChange[] = [];
  const compare = (one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>, at: readonly string[]): void => {
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
      let count = 0;
      const pair = [one, other].map((holder) => (Object.hasOwn(holder, name) ? { [name]: holder[name] } : {}));
      for (const change of documentChanges(pair[0], pair[1], at)) {
        if (count++ === MAX_CHANGES) break;
        found.push({ path: change.path, kind: "setting", before: shown(change.before), after: shown(change.after), risk: "review" });
      }
    }
  };
  compare(without(before, REPORTED), without(after, REPORTED), []);
  const operationsOf = (value: unknown) => (isObject(value) && isObject(value["operations"]) ? value["operations"] : {});
  const [had, has] = [operationsOf(before), operationsOf(after)];
  for (const base of Object.keys(has)) {
    await pause();
    if (Object.hasOwn(had, base)) compare(without(had[base], REPORTED_OF_TOOL), without(has[base], REPORTED_OF_TOOL), ["operations", base]);
  }
  return found;
};
