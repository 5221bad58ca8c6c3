import { parsePointer, pointerText } from "#contract/json-pointer.ts";
import { Problem, type Issue, type ProblemCode } from "#contract/problem.ts";

/** Why one of the rows that were to be written cannot be. */
export interface RowRefusal {
  /** Which of the rows given, from 0. */
  readonly at: number;
  readonly code: ProblemCode;
  /** JSON Pointer into the row. */
  readonly path: string;
  readonly message: string;
}

/** Where in what was sent that stands which a refusal calls so: JSON Pointers, of a row and of the whole. */
export type Place = (at: number, path: string) => string;

/** Of a row that was made of members of other names: `{ src: "target_id" }`; "" is all that was sent. */
export const sentAs =
  (members: Readonly<Record<string, string>>): Place =>
  (_at, path) => {
    const [first = "", ...rest] = parsePointer(path);
    return pointerText([members[first] ?? first, ...rest]);
  };

/** One problem of all refusals. */
export const problemOfRows = (refusals: readonly RowRefusal[], place: Place = (_at, path) => path): Problem => {
  const codes = new Set(refusals.map(({ code }) => code));
  const [only] = codes;
  const errors = refusals.map(({ at, code, path, message }): Issue => ({
    path: place(at, path),
    message,
    ...(code === "unprocessable" ? {} : { code }),
  }));
  return new Problem(codes.size === 1 && only !== undefined ? only : "unprocessable", { errors });
};
