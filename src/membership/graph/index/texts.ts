import { Arena } from "./column.ts";

/** In front of each text, its length in bytes. */
const LENGTH = 4;
const encoder = new TextEncoder();

/** Texts in one arena, each known by where it lies. What is replaced stays until the index is built anew: `wasted` says how much that is. */
export class Texts {
  readonly #arena = new Arena();
  #used = LENGTH;
  wasted = 0;

  get bytes(): number {
    return this.#arena.bytes.byteLength;
  }

  /** Where the text lies now: at `held`, where it was, if it is the same. 0 is no place. */
  put(text: string, held = 0): number {
    if (held !== 0) {
      if (this.at(held) === text) return held;
      this.wasted += LENGTH + this.#arena.view.readUInt32LE(held);
    }
    const place = this.#used;
    // A UTF-16 unit is three bytes at most.
    this.#arena.reserve(place + LENGTH + text.length * 3);
    const { written } = encoder.encodeInto(text, this.#arena.bytes.subarray(place + LENGTH));
    this.#arena.view.writeUInt32LE(written, place);
    this.#used += LENGTH + written;
    return place;
  }

  at(place: number): string {
    const { view } = this.#arena;
    return view.toString("utf8", place + LENGTH, place + LENGTH + view.readUInt32LE(place));
  }
}
