const TENANTS = 2 ** 24;
const KINDS = 32;

/** How many of a kind there are for each tenant, or for each pair of them. */
export class Tally {
  readonly #counts = new Map<number, number>();

  change(kind: number, tenant: number, other: number, by: number): void {
    const key = (tenant * TENANTS + other) * KINDS + kind;
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }

  clear(): void {
    this.#counts.clear();
  }

  /** By kind, of those whose tenants satisfy. Cost: one step for each kind and (pair of) tenants that there is. */
  sums(sees: (tenant: number) => boolean): Map<number, number> {
    const sums = new Map<number, number>();
    for (const [key, count] of this.#counts) {
      const kind = key % KINDS;
      const pair = (key - kind) / KINDS;
      const other = pair % TENANTS;
      if (sees((pair - other) / TENANTS) && sees(other)) sums.set(kind, (sums.get(kind) ?? 0) + count);
    }
    return sums;
  }
}
