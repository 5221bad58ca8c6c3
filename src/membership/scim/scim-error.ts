import type { ProblemCode } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import { scimErrorBody } from "#http/scim-refusal.ts";

/** The `scimType` words of RFC 7644, table 9. */
type ScimType = "invalidFilter" | "tooMany" | "uniqueness" | "mutability" | "invalidSyntax" | "invalidPath" | "noTarget" | "invalidValue";

/** A refusal in SCIM's own words. */
export class ScimError extends Error {
  readonly status: number;
  readonly scimType: ScimType | undefined;
  constructor(status: number, scimType: ScimType | undefined, detail: string) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
  }
}

const words: Partial<Record<ProblemCode, readonly [status: number, scimType?: ScimType]>> = {
  already_exists: [409, "uniqueness"],
  conflict: [409, "uniqueness"],
  unprocessable: [400, "invalidValue"],
  edge_not_allowed: [400, "invalidValue"],
  cross_tenant: [400, "invalidValue"],
  cycle: [400, "invalidValue"],
  body_unreadable: [400, "invalidSyntax"],
  duplicate_member: [400, "invalidSyntax"],
};

/** Every failure as an Error message of RFC 7644, 3.12. What is not expected is reported as a failure and no more. */
export const scimErrorOf = (
  error: unknown,
): {
  readonly status: number;
  readonly scimType: ScimType | undefined;
  readonly detail: string;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
} => {
  if (error instanceof ScimError) {
    const { status, scimType, message } = error;
    return { status, scimType, detail: message, body: scimErrorBody(status, message, scimType), headers: {} };
  }
  const problem = asProblem(error);
  const [status, scimType] = words[problem.code] ?? [problem.status];
  const issues = problem.options.errors?.map(({ path, message }) => `${path} ${message}`).join("; ");
  const reason = problem.options.detail ?? issues ?? problem.title;
  // SCIM has no word for this one: the code stands in the text.
  const detail = problem.code === "last_administrator" ? `${problem.code}: ${reason}` : reason;
  return { status, scimType, detail, body: scimErrorBody(status, detail, scimType), headers: problem.options.headers ?? {} };
};
