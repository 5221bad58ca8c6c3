/** Ends a transaction whose work was only tried: all of it was checked, nothing is kept. */
export class OnlyTried extends Error {
  /** What it would have come to. */
  readonly outcome: unknown;
  constructor(outcome: unknown) {
    super("tried");
    this.outcome = outcome;
  }
}
