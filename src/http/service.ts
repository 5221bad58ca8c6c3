/** What every module that serves is: one seam, in one process and in many. */
export interface Service {
  readonly name: string;
  fetch(request: Request): Promise<Response>;
  /** Resolves to the parts that do not answer; empty = ready. */
  ready(): Promise<readonly string[]>;
  [Symbol.asyncDispose](): Promise<void>;
}
