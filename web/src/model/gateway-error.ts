import type { Problem, ProblemCode } from "#contract/problem.ts";

/** A refusal or failure of a call, with the id under which Sallyport's log knows the call. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly problem: Problem;
  readonly correlationId: string;
  /** Method and path, for "copy as API call". */
  readonly call: { readonly method: string; readonly path: string };

  constructor(problem: Problem, correlationId: string, call: { readonly method: string; readonly path: string }) {
    super(problem.message, { cause: problem });
    this.problem = problem;
    this.correlationId = correlationId;
    this.call = call;
  }
}

/** Whether it is Sallyport's refusal or failure of this code. */
export const hasCode = (error: unknown, code: ProblemCode): error is GatewayError =>
  error instanceof GatewayError && error.problem.code === code;

/** A text member of the refusal's body, e.g. `decision_id`. */
export const memberOf = (error: GatewayError, name: string): string | undefined => {
  const value = error.problem.options.members?.[name];
  return typeof value === "string" ? value : undefined;
};
