/** Numbers of one process's entries: dense from 1, so that a lost row shows as a hole. */
export interface WriterNumbers {
  take(): number;
  /** Numbers of entries that certainly were not written; the next ones get them. */
  giveBack(numbers: readonly number[]): void;
  /** The largest number there will be when one more has been taken. */
  lastWithNext(): number;
}

export const createWriterNumbers = (): WriterNumbers => {
  let last = 0;
  const free: number[] = [];
  return {
    take: () => free.shift() ?? ++last,
    giveBack: (numbers) => {
      free.push(...numbers);
      free.sort((one, other) => one - other);
    },
    lastWithNext: () => (free.length > 0 ? last : last + 1),
  };
};
