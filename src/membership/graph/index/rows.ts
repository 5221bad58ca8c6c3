import type { Turn } from "#http/turns.ts";
import { roomFor, withRoom } from "./column.ts";

/** Room that a row may have: 0, 1, 2, 3, 4, 6, 8, 12, 16, ..: never more than half of it is empty, and of short rows nothing. */
const rooms: number[] = [0, 1, 2, 3, 4];
for (let room = 4; room < 2 ** 30; room *= 2) rooms.push(room * 1.5, room * 2);

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
  #rooms: Uint8Array;
  readonly #left: number[][] = rooms.map(() => []);

  constructor(sizes: { readonly nodes: number; readonly edges: number }) {
    this.#pool = new Uint32Array(roomFor(sizes.edges));
    this.#starts = new Uint32Array(roomFor(sizes.nodes));
    this.#lengths = new Uint32Array(roomFor(sizes.nodes));
    this.#rooms = new Uint8Array(roomFor(sizes.nodes));
  }

  get bytes(): number {
    return this.#pool.byteLength + this.#starts.byteLength + this.#lengths.byteLength + this.#rooms.byteLength;
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
    this.#starts = withRoom(this.#starts, node + 1);
    this.#lengths = withRoom(this.#lengths, node + 1);
    this.#rooms = withRoom(this.#rooms, node + 1);
    const offset = place - this.start(node);
    const length = this.#lengths[node] as number;
    if (length === rooms[this.#rooms[node] as number]) this.#move(node, (this.#rooms[node] as number) + 1);
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
  async pack(pause: Turn): Promise<void> {
    const roomOf = (length: number): number => rooms.findIndex((room) => room >= length);
    let size = 0;
    for (const length of this.#lengths) size += rooms[roomOf(length)] as number;
    const pool = new Uint32Array(roomFor(size));
    let used = 0;
    for (const [node, length] of this.#lengths.entries()) {
      const start = this.#starts[node] as number;
      pool.set(this.#pool.subarray(start, start + length), used);
      this.#starts[node] = used;
      this.#rooms[node] = roomOf(length);
      used += rooms[roomOf(length)] as number;
      if (node % 1024 === 0) await pause();
    }
    this.#pool = pool;
    this.#used = used;
    for (const left of this.#left) left.length = 0;
  }

  #move(node: number, room: number): void {
    const [from, held] = [this.#starts[node] as number, this.#rooms[node] as number];
    const to = room === 0 ? 0 : (this.#left[room]?.pop() ?? this.#take(rooms[room] as number));
    this.#pool.copyWithin(to, from, from + (this.#lengths[node] as number));
    if (held !== 0) this.#left[held]?.push(from);
    this.#starts[node] = to;
    this.#rooms[node] = room;
  }

  #take(size: number): number {
    this.#pool = withRoom(this.#pool, this.#used + size);
    this.#used += size;
    return this.#used - size;
  }
}
