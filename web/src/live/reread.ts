import type { QueryClient } from "@tanstack/react-query";
import { isObject } from "#contract/is-object.ts";
import { AUTHZ } from "../decisions/decision-query.ts";
import type { StreamEvent } from "./stream.ts";

const SETTLE_MS = 1_000;

/** Which stored answers an event makes old. `waiting` is what waits for the person, as the navigation counts it. */
export const touched: Readonly<Record<string, readonly string[]>> = {
  delegation: ["delegations", AUTHZ, "tools", "waiting"],
  budget: ["delegations"],
  policy: [AUTHZ, "tools", "policies", "requests", "waiting"],
  graph: [AUTHZ, "tools", "nodes"],
  tools: ["tools", "systems", "waiting"],
  config: ["systems", "tools", "workflows"],
  session: [AUTHZ],
  access_request: ["requests", "waiting"],
};

/** An answer that is old: all below a root, or of those only lists and what is about one id. */
export type Old = string | { readonly root: string; readonly id: string };

export const oldBy = ({ kind, data }: Pick<StreamEvent, "kind" | "data">): readonly Old[] => {
  if (kind !== "workflow" && kind !== "task") return touched[kind] ?? [];
  const { run_id: run, task_id: task } = data;
  return [
    ...(typeof run === "string" ? [{ root: "workflows", id: run }] : []),
    ...(typeof task === "string" ? [{ root: "tasks", id: task }, "waiting"] : []),
  ];
};

/** Whether a query is of a list, or of the one that is named: `[root, kind, path, options]` (`useEndpoint`). */
const isAbout = (key: readonly unknown[], id: string): boolean => {
  const options = key[3];
  const params = isObject(options) ? options["params"] : undefined;
  return !isObject(params) || Object.values(params).includes(id);
};

/**
 * Collects what is to be read again and does it at most once a second: the first at once, so that a revocation shows.
 * Decisions that nothing on screen waits for are forgotten: whoever comes back to them asks anew and sees nothing until then.
 */
export const createRereader = (queries: QueryClient): ((names: readonly Old[]) => void) => {
  /** Ids by root; undefined: all. */
  const waiting = new Map<string, Set<string> | undefined>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  const run = (): void => {
    timer = undefined;
    last = Date.now();
    const names = [...waiting];
    waiting.clear();
    for (const [name, ids] of names) {
      if (name === AUTHZ) queries.removeQueries({ queryKey: [AUTHZ], type: "inactive" });
      const predicate = ({ queryKey: key }: { readonly queryKey: readonly unknown[] }): boolean =>
        ids === undefined || [...ids].some((id) => isAbout(key, id));
      void queries.invalidateQueries({ queryKey: [name], predicate });
    }
  };
  return (names) => {
    for (const name of names) {
      if (typeof name === "string") waiting.set(name, undefined);
      else if (!waiting.has(name.root) || waiting.get(name.root) !== undefined)
        waiting.set(name.root, new Set([...(waiting.get(name.root) ?? []), name.id]));
    }
    timer ??= setTimeout(run, Math.max(0, last + SETTLE_MS - Date.now()));
  };
};
