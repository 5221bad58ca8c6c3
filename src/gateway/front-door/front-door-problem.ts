import type { FrontDoorCode, ListenerCode } from "#contract/endpoint-problems.ts";
import { Problem, type ProblemOptions } from "#contract/problem.ts";

/** A refusal that any path may meet; the reference of every path has it. */
export const frontDoorProblem = (code: FrontDoorCode | ListenerCode, options: ProblemOptions = {}): Problem => new Problem(code, options);
