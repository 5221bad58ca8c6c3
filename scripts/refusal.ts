/** Why a command did not do what it was asked, in words that say what to do; exit codes of sysexits.h. */
export class Refusal extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
