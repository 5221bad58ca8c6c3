export type WriterNumbers = ReturnType<typeof createWriterNumbers>;

/** Numbers of one process's entries: dense from 1, so that a lost row shows as a hole. */
export const createWriterNumbers = () => {
  let last = 0;
  const free: number[] = [];
  return {
    take: (): number => free.shift() ?? ++last,
    /** Numbers of entries that certainly were not written; the next ones get them. */
    giveBack: (numbers: readonly number[]): void => {
      free.push(...numbers);
      free.sort((one, other) => one - other);
    },
    /** The largest number there will be when one more has been taken. */
    lastWithNext: (): number => (free.length > 0 ? last : last + 1),
  };
};
