import { edgeKindNames, type EdgeKind } from "#membership/model/kinds.ts";
import { Arena, capacityFor, withCapacity } from "./column.ts";
import type { Names } from "./names.ts";
import { Rows } from "./rows.ts";

const kindNumbers: ReadonlyMap<string, number> = new Map(edgeKindNames.map((kind, at) => [kind, at]));
/** Throws for a word that is no kind. */
export const edgeKindNumber = (kind: string): number => {
  const number = kindNumbers.get(kind);
  if (number === undefined) throw new Error(`the graph has edges of kind ${kind}, which nobody knows`);
  return number;
};

export const DELEGATES_TO = edgeKindNumber("DELEGATES_TO");
const ID_BYTES = 16;
/** As `edgeIdOf` makes them. */
const DERIVED = /^edge:[0-9a-f]{32}$/;

/**
 * Edges as columns, and for each node the row of those that leave it and of those that come to it, by kind. A number that became free is
 * given to the next edge.
 */
export class Edges {
  readonly out: Rows;
  readonly in: Rows;
  #sources: Uint32Array;
  #targets: Uint32Array;
  #kinds: Uint8Array;
  /** What its kind keeps beside it: a number of whoever wrote it. */
  #notes: Uint32Array;
  readonly #ids = new Arena();
  readonly #delegationNames: Names;
  /** Ids that are no digest. */
  readonly #otherIds = new Map<number, string>();
  /** Ends in milliseconds, of those that have one. */
  readonly ends = new Map<number, number>();
  readonly #free: number[] = [];
  #used = 0;

  constructor(delegationNames: Names, sizes: { readonly nodes: number; readonly edges: number }) {
    this.#delegationNames = delegationNames;
    this.out = new Rows(sizes);
    this.in = new Rows(sizes);
    const capacity = capacityFor(sizes.edges);
    this.#sources = new Uint32Array(capacity);
    this.#targets = new Uint32Array(capacity);
    this.#kinds = new Uint8Array(capacity);
    this.#notes = new Uint32Array(capacity);
    this.#ids.reserve(capacity * ID_BYTES);
  }

  get size(): number {
    return this.#used - this.#free.length;
  }
  get bytes(): number {
    const columns = [this.#sources, this.#targets, this.#kinds, this.#notes, this.#ids.bytes];
    return this.out.bytes + this.in.bytes + columns.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  source(edge: number): number {
    return this.#sources[edge] as number;
  }
  target(edge: number): number {
    return this.#targets[edge] as number;
  }
  kind(edge: number): number {
    return this.#kinds[edge] as number;
  }
  kindName(edge: number): EdgeKind {
    return edgeKindNames[this.kind(edge)] as EdgeKind;
  }
  note(edge: number): number {
    return this.#notes[edge] as number;
  }
  id(edge: number): string {
    if (this.kind(edge) === DELEGATES_TO) return this.#delegationNames.nameOf(this.note(edge));
    const place = edge * ID_BYTES;
    return this.#otherIds.get(edge) ?? `edge:${this.#ids.view.toString("hex", place, place + ID_BYTES)}`;
  }
  /** Past its end it counts as absent. */
  isOver(edge: number, now: number): boolean {
    return this.ends.size > 0 && (this.ends.get(edge) ?? Infinity) <= now;
  }

  /** Places in the row of a node where the edges of a kind begin and where those of the next one do. */
  from(rows: Rows, node: number, kind: number): number {
    let [low, high] = [rows.start(node), rows.end(node)];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#kinds[rows.at(middle)] as number) < kind) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  to(rows: Rows, node: number, kind: number): number {
    return this.from(rows, node, kind + 1);
  }

  /** The edge of this id between the two; -1: there is none. Of two rows the shorter one is looked through. */
  find(source: number, kind: number, target: number, id: string): number {
    const [low, high] = [this.from(this.out, source, kind), this.to(this.out, source, kind)];
    const [first, last] = [this.from(this.in, target, kind), this.to(this.in, target, kind)];
    if (high - low <= last - first) {
      for (let at = low; at < high; at++) if (this.#is(this.out.at(at), source, target, id)) return this.out.at(at);
    } else for (let at = first; at < last; at++) if (this.#is(this.in.at(at), source, target, id)) return this.in.at(at);
    return -1;
  }

  /** `note` as in `set`: of a delegation its number, which is where its id is from. */
  add(source: number, kind: number, target: number, id: string, note: number): number {
    const edge = this.#free.pop() ?? this.#used++;
    this.#sources = withCapacity(this.#sources, edge + 1);
    this.#targets = withCapacity(this.#targets, edge + 1);
    this.#kinds = withCapacity(this.#kinds, edge + 1);
    this.#notes = withCapacity(this.#notes, edge + 1);
    this.#sources[edge] = source;
    this.#targets[edge] = target;
    this.#kinds[edge] = kind;
    this.#notes[edge] = note;
    this.out.insert(source, this.to(this.out, source, kind), edge);
    this.in.insert(target, this.to(this.in, target, kind), edge);
    if (kind === DELEGATES_TO) return edge;
    this.#ids.reserve((edge + 1) * ID_BYTES);
    if (DERIVED.test(id)) this.#ids.view.write(id.slice(5), edge * ID_BYTES, ID_BYTES, "hex");
    else this.#otherIds.set(edge, id);
    return edge;
  }

  /** `ends` in milliseconds; null = never. */
  set(edge: number, note: number, ends: number | null): void {
    this.#notes[edge] = note;
    if (ends === null) this.ends.delete(edge);
    else this.ends.set(edge, ends);
  }

  drop(edge: number): void {
    const kind = this.kind(edge);
    for (const [rows, node] of [
      [this.out, this.source(edge)],
      [this.in, this.target(edge)],
    ] as const) {
      let at = this.from(rows, node, kind);
      while (rows.at(at) !== edge) at++;
      rows.remove(node, at);
    }
    this.ends.delete(edge);
    this.#otherIds.delete(edge);
    this.#free.push(edge);
  }

  #is(edge: number, source: number, target: number, id: string): boolean {
    return this.#sources[edge] === source && this.#targets[edge] === target && this.id(edge) === id;
  }
}
