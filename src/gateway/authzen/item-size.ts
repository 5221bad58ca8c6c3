/** What properties and context of one item come to. */
export interface ItemSize {
  readonly bytes: number;
  /** Members and items of all depths. */
  readonly members: number;
}

const membersOf = (value: unknown): number =>
  typeof value !== "object" || value === null ? 0 : Object.values(value).reduce<number>((sum, item) => sum + 1 + membersOf(item), 0);

/** Measures as JSON. What many items inherit from the batch is one object, and is looked at once. */
export const createItemSizes = (): ((parts: readonly unknown[]) => ItemSize) => {
  const known = new WeakMap<object, ItemSize>();
  const sizeOf = (part: unknown): ItemSize => {
    if (typeof part !== "object" || part === null) return { bytes: Buffer.byteLength(JSON.stringify(part) ?? "{}"), members: 0 };
    const size = known.get(part) ?? { bytes: Buffer.byteLength(JSON.stringify(part)), members: membersOf(part) };
    known.set(part, size);
    return size;
  };
  return (parts) =>
    parts
      .map(sizeOf)
      .reduce((sum, one) => ({ bytes: sum.bytes + one.bytes, members: sum.members + one.members }), { bytes: 0, members: 0 });
};

/** What is wrong with properties and context of one item that are larger than is taken; `undefined`: nothing. */
export const sizeIssue = ({ bytes }: ItemSize, limitBytes: number): string | undefined =>
  bytes > limitBytes ? `holds more than ${limitBytes} bytes of properties and context` : undefined;
