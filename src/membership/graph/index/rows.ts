import type { Yield } from "#http/yielding.ts";
import { capacityFor, withCapacity } from "./column.ts";

/** Room that a row may have: 0, 1, 2, 3, 4, 6, 8, 12, 16, ..: never more than half of it is empty, and of short rows nothing. */
const capacities: number[] = [0, 1, 2, 3, 4];
for (let capacity = 4; capacity < 2 ** 30; capacity *= 2) capacities.push(capacity * 1.5, capacity * 2);

/**
 * A row of numbers for each node, all of them in one pool: compressed sparse rows that can be written. A row that outgrows its room moves to
 * a larger one; what it leaves is kept for the next row of that size, so that nothing needs to be packed together later.
 */
export class Rows {
  #pool: Uint32Array;
  #used = 0;
  #starts: Uint32Array;
  #lengths: Uint32Array;
  /** Index in `rooms`. */
  #capacities: Uint8Array;
  readonly #left: number[][] = capacities.map(() => []);

  constructor(sizes: { readonly nodes: number; readonly edges: number }) {
    this.#pool = new Uint32Array(capacityFor(sizes.edges));
    this.#starts = new Uint32Array(capacityFor(sizes.nodes));
    this.#lengths = new Uint32Array(capacityFor(sizes.nodes));
    this.#capacities = new Uint8Array(capacityFor(sizes.nodes));
  }

  get bytes(): number {
    return this.#pool.byteLength + this.#starts.byteLength + this.#lengths.byteLength + this.#capacities.byteLength;
  }

  /** Where the row of a node begins and ends; what lies there is read by `at`, and moves with the next write. */
  start(node: number): number {
    return this.#starts[node] ?? 0;
  }
  end(node: number): number {
    return (this.#starts[node] ?? 0) + (this.#lengths[node] ?? 0);
  }
  at(place: number): number {
    return this.#pool[place] as number;
  }

  insert(node: number, place: number, value: number): void {
    this.#starts = withCapacity(this.#starts, node + 1);
    this.#lengths = withCapacity(this.#lengths, node + 1);
    this.#capacities = withCapacity(this.#capacities, node + 1);
    const offset = place - this.start(node);
    const length = this.#lengths[node] as number;
    if (length === capacities[this.#capacities[node] as number]) this.#move(node, (this.#capacities[node] as number) + 1);
    const start = this.#starts[node] as number;
    this.#pool.copyWithin(start + offset + 1, start + offset, start + length);
    this.#pool[start + offset] = value;
    this.#lengths[node] = length + 1;
  }

  remove(node: number, place: number): void {
    this.#pool.copyWithin(place, place + 1, this.end(node));
    this.#lengths[node] = (this.#lengths[node] as number) - 1;
    if (this.#lengths[node] === 0) this.#move(node, 0);
  }

  /** Puts rows side by side, each with the room that it needs: what growing left behind is let go. Nobody may read or write meanwhile. */
  async pack(pause: Yield): Promise<void> {
    const moduleOf = (length: number): number => capacities.findIndex((capacity) => capacity >= length);
    let size = 0;
    for (const length of this.#lengths) size += capacities[moduleOf(length)] as number;
    const pool = new Uint32Array(capacityFor(size));
    let used = 0;
    for (const [node, length] of this.#lengths.entries()) {
      const start = this.#starts[node] as number;
      pool.set(this.#pool.subarray(start, start + length), used);
      this.#starts[node] = used;
      this.#capacities[node] = moduleOf(length);
      used += capacities[moduleOf(length)] as number;
      if (node % 1024 === 0) await pause();
    }
    this.#pool = pool;
    this.#used = used;
    for (const left of this.#left) left.length = 0;
  }

  #move(node: number, capacity: number): void {
    const [from, held] = [this.#starts[node] as number, this.#capacities[node] as number];
    const to = capacity === 0 ? 0 : (this.#left[capacity]?.pop() ?? this.#take(capacities[capacity] as number));
    this.#pool.copyWithin(to, from, from + (this.#lengths[node] as number));
    if (held !== 0) this.#left[held]?.push(from);
    this.#starts[node] = to;
    this.#capacities[node] = capacity;
  }

  #take(size: number): number {
    this.#pool = withCapacity(this.#pool, this.#used + size);
    this.#used += size;
    return this.#used - size;
  }
}
