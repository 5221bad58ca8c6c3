/** A child that has a place. */
export interface PlacedChild {
  /** Whose it is; empty: nobody's alone. */
  readonly tenant: string;
  /** Uses of it that are under way. */
  readonly busy: number;
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
  /** Resolves when its place is free. */
  retire(): Promise<void>;
}

/**
 * Places for children of all systems. A tenant has a quarter of them, and more only while half of all are free. Where there is none, an idle
 * child makes room: one of the tenant itself, or below its share one of a tenant that has more.
 */
export const createChildPlaces = (max: number) => {
  const taken = new Set<PlacedChild>();
  const countOf = (tenant: string): number => [...taken].filter((child) => child.tenant === tenant).length;
  const share = Math.ceil(max / 4);
  const hasCapacity = (tenant: string): boolean => taken.size < max && (countOf(tenant) < share || taken.size < max / 2);
  return {
    get taken(): number {
      return taken.size;
    },
    hasCapacity,
    /** Ends an idle child where there is no room. */
    evictOldest: async (tenant: string): Promise<void> => {
      if (hasCapacity(tenant)) return;
      const own = countOf(tenant);
      const mayGo = (child: PlacedChild): boolean => child.tenant === tenant || (own < share && countOf(child.tenant) > own);
      const idle = [...taken].filter((child) => child.busy === 0 && mayGo(child)).toSorted((a, b) => a.lastUsed - b.lastUsed);
      await idle[0]?.retire();
    },
    add: (child: PlacedChild): void => void taken.add(child),
    delete: (child: PlacedChild): void => void taken.delete(child),
  };
};
export type ChildPlaces = ReturnType<typeof createChildPlaces>;
