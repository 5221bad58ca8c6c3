/** Why work is not begun: too many of the tenant wait, or nobody waits for it. */
export type NotBegun = "full" | "cancelled";

export interface TenantTurnsParts {
  /** How much is done at once, of each tenant one; 1 unless given. */
  readonly width?: number | undefined;
  /** How much of one tenant may wait; any amount unless given, and of what is no tenant's. */
  readonly maxWaiting?: number | undefined;
  readonly ended: (cause: unknown, why: NotBegun) => Error;
}

export interface TurnOf {
  /** Whose turn it counts to; nobody's unless given. */
  readonly tenant?: string | undefined;
  /** Aborted when nobody waits for the result any more. */
  readonly signal?: AbortSignal | undefined;
}

/** Does the work when its turn comes. Throws what the work throws, and what `ended` makes of work that is not begun. */
export type TenantTurns = <Result>(of: TurnOf, work: () => Promise<Result>) => Promise<Result>;

/** Work of one tenant is done in its order and never twice at once, that of several tenants in turns. */
export const createTenantTurns = ({ width = 1, maxWaiting = Infinity, ended }: TenantTurnsParts): TenantTurns => {
  /** The tenant whose turn is next comes first. */
  const waiting = new Map<string, (() => Promise<void>)[]>();
  const busy = new Set<string>();

  const next = (): void => {
    for (const [tenant, all] of waiting) {
      if (busy.size >= width) return;
      if (busy.has(tenant)) continue;
      const begin = all.shift();
      waiting.delete(tenant);
      if (all.length > 0) waiting.set(tenant, all);
      busy.add(tenant);
      void begin?.().finally(() => {
        busy.delete(tenant);
        next();
      });
    }
  };

  return ({ tenant = "", signal }, work) =>
    new Promise((resolve, reject) => {
      const all = waiting.get(tenant) ?? [];
      if (signal?.aborted === true) return reject(ended(signal.reason, "cancelled"));
      if (tenant !== "" && all.length >= maxWaiting) return reject(ended(undefined, "full"));
      const begin = (): Promise<void> => {
        signal?.removeEventListener("abort", cancel);
        return work().then(resolve, reject);
      };
      const cancel = (): void => {
        const others = waiting.get(tenant)?.filter((one) => one !== begin) ?? [];
        if (others.length === 0) waiting.delete(tenant);
        else waiting.set(tenant, others);
        reject(ended(signal?.reason, "cancelled"));
      };
      signal?.addEventListener("abort", cancel, { once: true });
      all.push(begin);
      waiting.set(tenant, all);
      next();
    });
};
