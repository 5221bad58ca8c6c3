/** A column of numbers, one for each node or edge. */
export type Column = Uint8Array | Uint32Array | Float64Array;

const GROWTH = 1.25;
const MIN = 512;

/** Numbers that a column is made with, where so many are known to come. */
export const capacityFor = (size: number): number => Math.max(MIN, Math.ceil(size * (1 + 1 / 64)));

/** The column itself while it has room for so many, else a longer copy. Cost: amortised over what is added. */
export const withCapacity = <C extends Column>(column: C, size: number): C => {
  if (size <= column.length) return column;
  const longer = new (column.constructor as new (length: number) => C)(Math.max(size, Math.ceil(column.length * GROWTH)));
  longer.set(column);
  return longer;
};

/** Bytes that grow. `view` is the same memory, for reading texts out of it. */
export class Arena {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1024);
  view = Buffer.from(this.bytes.buffer);

  /** Room for so many bytes in all. What was read from `bytes` before may be another memory now. */
  reserve(size: number): void {
    const bytes = withCapacity(this.bytes, size);
    if (bytes === this.bytes) return;
    this.bytes = bytes;
    this.view = Buffer.from(bytes.buffer);
  }
}
