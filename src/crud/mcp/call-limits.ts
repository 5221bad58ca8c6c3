import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";

const PER_PRINCIPAL = 64;

/**
 * Calls at once: so many in this process, at most half of them of one tenant and 64 of one principal, so that nobody takes
 * the others' room. Answers the function that leaves. Throws `overloaded`.
 */
export const createCallLimits = (max: number): ((caller: Pick<Caller, "tenant" | "sub">) => () => void) => {
  const running = new Map<string, number>();
  let all = 0;
  const add = (key: string, by: number): void => {
    const next = (running.get(key) ?? 0) + by;
    if (next === 0) running.delete(key);
    else running.set(key, next);
  };
  return (caller) => {
    const principal = `${caller.tenant} ${caller.sub}`;
    const isFull =
      all >= max || (running.get(caller.tenant) ?? 0) >= Math.max(1, Math.floor(max / 2)) || (running.get(principal) ?? 0) >= PER_PRINCIPAL;
    if (isFull) throw new Problem("overloaded", { headers: { "retry-after": "1" } });
    all++;
    add(caller.tenant, 1);
    add(principal, 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      all--;
      add(caller.tenant, -1);
      add(principal, -1);
    };
  };
};
