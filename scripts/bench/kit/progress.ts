/** One line to whoever waits; the report itself goes to standard output. */
export const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
