import { killScope, KILL_SCOPES } from "#contract/kill-switches.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { nearestWord } from "#parsing/nearest-word.ts";
import type { Snapshot } from "#crud/tools/catalogue.ts";
import type { ConfigStore } from "./config-store.ts";
import type { FindNode } from "./find-node.ts";

export interface KnownScopeParts {
  readonly catalogue: { readonly snapshot: Snapshot };
  readonly store: Pick<ConfigStore, "list">;
  readonly findNode: FindNode;
}

const issue = (message: string, nearest?: string): Issue => ({
  path: "/scope",
  message,
  ...(nearest === undefined ? {} : { hint: `did you mean ${nearest}?` }),
});

/** Why a kill switch of this scope would switch off nothing of the tenant, by a slip of the pen as it seems. */
export const createScopeCheck = ({ catalogue, store, findNode }: KnownScopeParts) => {
  const namesOf = (word: string, tenant: string): readonly string[] => {
    const { tools, views } = catalogue.snapshot;
    if (word === "system") return store.list("system", tenant).map(({ name }) => name);
    if (word === "tool") return [...tools.values()].filter((one) => one.tenants?.includes(tenant) ?? true).map(({ name }) => name);
    return [...views.values()].filter((one) => one.tenants.length === 0 || one.tenants.includes(tenant)).map(({ name }) => name);
  };
  return async (asked: { readonly scope: string; readonly tenant: string; readonly correlationId: string }): Promise<readonly Issue[]> => {
    const { scope, tenant, correlationId } = asked;
    if (!killScope.safeParse(scope).success) return [issue(KILL_SCOPES)];
    if (scope === "all") return [];
    const [word, name] = [scope.slice(0, scope.indexOf(":")), scope.slice(scope.indexOf(":") + 1)];
    const unknown = `is nothing that is there; with ?force=true it is switched off all the same, should it come`;
    if (word !== "agent") {
      const names = namesOf(word, tenant);
      const nearest = nearestWord(name, names);
      return names.includes(name) ? [] : [issue(unknown, nearest === undefined ? undefined : `${word}:${nearest}`)];
    }
    try {
      const { kind, nearest } = await findNode({ id: scope, tenant, correlationId });
      return kind === undefined ? [issue(unknown, nearest)] : [];
    } catch (error) {
      // Nothing that cannot be asked stands in the way of switching off.
      if (error instanceof Problem && error.code === "membership_unavailable") return [];
      throw error;
    }
  };
};
