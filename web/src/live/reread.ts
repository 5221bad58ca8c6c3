import type { QueryClient } from "@tanstack/react-query";
import { AUTHZ } from "../decisions/decision-query.ts";

const SETTLE_MS = 1_000;

/** Which remembered answers an event makes old. */
export const touched: Readonly<Record<string, readonly string[]>> = {
  delegation: ["delegations", AUTHZ, "tools"],
  budget: ["delegations"],
  policy: [AUTHZ, "tools", "policies", "requests"],
  graph: [AUTHZ, "tools", "nodes"],
  tools: ["tools", "systems"],
  config: ["systems", "tools"],
  session: [AUTHZ],
};

/**
 * Collects what is to be read again and does it at most once a second: the first at once, so that a revocation shows.
 * Decisions that nothing on screen waits for are forgotten: whoever comes back to them asks anew and sees nothing until then.
 */
export const createRereader = (queries: QueryClient): ((names: readonly string[]) => void) => {
  const waiting = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  const run = (): void => {
    timer = undefined;
    last = Date.now();
    const names = [...waiting];
    waiting.clear();
    if (names.includes(AUTHZ)) queries.removeQueries({ queryKey: [AUTHZ], type: "inactive" });
    for (const name of names) void queries.invalidateQueries({ queryKey: [name] });
  };
  return (names) => {
    for (const name of names) waiting.add(name);
    timer ??= setTimeout(run, Math.max(0, last + SETTLE_MS - Date.now()));
  };
};
