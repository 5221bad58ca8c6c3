import type { ProblemCode } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import { Types } from "scimmy";

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

/** Every failure as an Error message of RFC 7644, 3.12. What the house does not expect is said as a failure and no more. */
export const scimErrorOf = (
  error: unknown,
): { readonly status: number; readonly body: object; readonly headers: Readonly<Record<string, string>> } => {
  const bodyOf = (status: number, scimType: string | null | undefined, detail: string): object => ({
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(status),
    ...(scimType === undefined || scimType === null ? {} : { scimType }),
    detail,
  });
  if (error instanceof ScimError) return { status: error.status, body: bodyOf(error.status, error.scimType, error.message), headers: {} };
  if (error instanceof Types.Error) {
    const { status, scimType, message } = error as unknown as { status: number; scimType?: string; message: string };
    return { status: Number(status), body: bodyOf(Number(status), scimType, message), headers: {} };
  }
  const problem = asProblem(error);
  const [status, scimType] = words[problem.code] ?? [problem.status];
  const faults = problem.options.errors?.map(({ path, message }) => `${path} ${message}`).join("; ");
  const detail = problem.options.detail ?? faults ?? problem.title;
  return { status, body: bodyOf(status, scimType, detail), headers: problem.options.headers ?? {} };
};

/** Runs what reads a client's words by the library; whatever it throws is the client's fault. */
export const asClientFault = <T>(scimType: ScimType, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (error instanceof Types.Error || error instanceof ScimError) throw error;
    throw new ScimError(400, scimType, error instanceof Error && scimType === "invalidValue" ? error.message : "It cannot be understood.");
  }
};
