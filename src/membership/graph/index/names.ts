import { Arena, withCapacity } from "./column.ts";

const FNV_PRIME = 0x01000193;
const FNV_START = 0x811c9dc5;
const FIRST_SLOTS = 1024;
/** Names kept as strings: answers tell the same tools, groups and tenants again and again. */
const KEPT = 4096;

const hashOf = (name: string): number => {
  let hash = FNV_START;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), FNV_PRIME);
  return (hash ^ (hash >>> 15)) >>> 0;
};

/**
 * Ids and their numbers, from 0. An id keeps its number for as long as the table lives, whatever becomes of what it names. The letters of all
 * lie in one arena and are found by open addressing, so that a million ids are three arrays and no object.
 */
export class Names {
  #size = 0;
  readonly #letters = new Arena();
  /** Where a name begins; it ends where the next one begins. */
  #starts = new Uint32Array(FIRST_SLOTS / 2 + 1);
  /** Number + 1 at the slot of its hash or behind it; 0 = empty. At most two thirds are taken. */
  #slots = new Uint32Array(FIRST_SLOTS);
  readonly #kept = new Map<number, string>();

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#letters.bytes.byteLength + this.#starts.byteLength + this.#slots.byteLength;
  }

  /** -1: there is none. */
  find(name: string): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(name) & mask; ; slot = (slot + 1) & mask) {
      const number = (this.#slots[slot] as number) - 1;
      if (number === -1 || this.#is(number, name)) return number;
    }
  }

  /** The number of the name, a new one if it has none. Throws for what is no id: the database refuses letters beyond ASCII. */
  add(name: string): number {
    const known = this.find(name);
    if (known !== -1) return known;
    const number = this.#size++;
    const start = this.#starts[number] as number;
    this.#letters.reserve(start + name.length);
    this.#starts = withCapacity(this.#starts, number + 2);
    for (let at = 0; at < name.length; at++) {
      const letter = name.charCodeAt(at);
      if (letter > 127) throw new Error("an id of the graph has letters beyond ASCII");
      this.#letters.bytes[start + at] = letter;
    }
    this.#starts[number + 1] = start + name.length;
    if (this.#size * 3 > this.#slots.length * 2) this.#widen();
    else this.#place(number, hashOf(name));
    return number;
  }

  nameOf(number: number): string {
    const kept = this.#kept.get(number);
    if (kept !== undefined) return kept;
    const name = this.#letters.view.toString("latin1", this.#starts[number], this.#starts[number + 1]);
    if (this.#kept.size === KEPT) this.#kept.clear();
    this.#kept.set(number, name);
    return name;
  }

  #is(number: number, name: string): boolean {
    const start = this.#starts[number] as number;
    if ((this.#starts[number + 1] as number) - start !== name.length) return false;
    const { bytes } = this.#letters;
    for (let at = 0; at < name.length; at++) if (bytes[start + at] !== name.charCodeAt(at)) return false;
    return true;
  }

  #place(number: number, hash: number): void {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = number + 1;
  }

  #widen(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let number = 0; number < this.#size; number++) this.#place(number, this.#hashAt(number));
  }

  #hashAt(number: number): number {
    const { bytes } = this.#letters;
    const end = this.#starts[number + 1] as number;
    let hash = FNV_START;
    for (let at = this.#starts[number] as number; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME);
    return (hash ^ (hash >>> 15)) >>> 0;
  }
}
