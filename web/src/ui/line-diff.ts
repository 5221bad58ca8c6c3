export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "gap";
  readonly text: string;
}

/** Beyond this many cells the middle is told as removed and added whole. */
const MAX_CELLS = 4_000_000;

/** What became of the lines between the common beginning and the common end. */
const middle = (before: readonly string[], after: readonly string[]): readonly DiffLine[] => {
  const removed = before.map((text) => ({ kind: "removed" as const, text }));
  const added = after.map((text) => ({ kind: "added" as const, text }));
  const [rows, columns] = [before.length, after.length];
  if (rows === 0 || columns === 0 || rows * columns > MAX_CELLS) return [...removed, ...added];
  // Length of the longest common subsequence of what follows each pair of places.
  const width = columns + 1;
  const length = new Uint32Array((rows + 1) * width);
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      length[row * width + column] =
        before[row] === after[column]
          ? (length[(row + 1) * width + column + 1] ?? 0) + 1
          : Math.max(length[(row + 1) * width + column] ?? 0, length[row * width + column + 1] ?? 0);
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    const [old, next] = [before[row], after[column]];
    if (old !== undefined && old === next) {
      lines.push({ kind: "same", text: old });
      row++;
      column++;
    } else if (
      next === undefined ||
      (old !== undefined && (length[(row + 1) * width + column] ?? 0) >= (length[row * width + column + 1] ?? 0))
    ) {
      lines.push({ kind: "removed", text: old ?? "" });
      row++;
    } else {
      lines.push({ kind: "added", text: next });
      column++;
    }
  }
  return lines;
};

/** Line by line, with `context` lines that stayed around each change; a gap where more are left out. Empty where nothing differs. */
export const diffLines = (before: string, after: string, context = 3): readonly DiffLine[] => {
  if (before === after) return [];
  const [old, next] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end++;
  const same = (lines: readonly string[]): readonly DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  const all = [
    ...same(old.slice(0, start)),
    ...middle(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...same(old.slice(old.length - end)),
  ];
  const isNear = new Uint8Array(all.length);
  for (const [at, { kind }] of all.entries()) if (kind !== "same") isNear.fill(1, Math.max(0, at - context), at + context + 1);
  return all.flatMap((line, at): readonly DiffLine[] => {
    if (isNear[at] === 1) return [line];
    return at === 0 || isNear[at - 1] === 1 ? [{ kind: "gap", text: "" }] : [];
  });
};
