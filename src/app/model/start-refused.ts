/** A start that is refused for a reason a person can mend: what to say, and the exit code (78 configuration, 73 data folder held). */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
  readonly exitCode: number;
  readonly lines: readonly string[];

  constructor(exitCode: number, lines: readonly string[]) {
    super(lines.join("\n"));
    this.exitCode = exitCode;
    this.lines = lines;
  }
}
