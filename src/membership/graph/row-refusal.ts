import { Problem, type Fault, type ProblemCode } from "#contract/problem.ts";

/** Why one of the rows that were to be written cannot be. */
export interface RowRefusal {
  /** Which of the rows given, from 0. */
  readonly at: number;
  readonly code: ProblemCode;
  /** JSON Pointer into the row. */
  readonly path: string;
  readonly message: string;
}

/** One problem of all refusals; `placeOf` says where a row stands in what was sent. */
export const problemOfRows = (refusals: readonly RowRefusal[], placeOf: (at: number) => string = () => ""): Problem => {
  const codes = new Set(refusals.map(({ code }) => code));
  const [only] = codes;
  const errors = refusals.map(({ at, code, path, message }): Fault => ({
    path: `${placeOf(at)}${path}`,
    message,
    ...(code === "unprocessable" ? {} : { code }),
  }));
  return new Problem(codes.size === 1 && only !== undefined ? only : "unprocessable", { errors });
};
