/** The known word that is most like one that is not known, if one is like it at all. */
export const nearestWord = (word: string, known: readonly string[]): string | undefined => {
  const max = Math.max(1, Math.floor(word.length / 3));
  return known
    .filter(({ length }) => word.length <= MAX_WORD && Math.abs(length - word.length) <= max)
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= max)
    .toSorted((a, b) => a.distance - b.distance)[0]?.candidate;
};

/** What is longer is like no known word: to compare two costs the product of their lengths. */
const MAX_WORD = 128;

/** Letters put in, left out, changed, or two beside each other swapped: each counts one. */
const editDistance = (from: string, to: string): number => {
  let before: readonly number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_unused, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swap = isSwapped ? (before[j - 2] ?? 0) + 1 : change;
      next.push(Math.min(change, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[to.length] ?? 0;
};
