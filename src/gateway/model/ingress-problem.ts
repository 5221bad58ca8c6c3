import type { IngressCode, ListenerCode } from "#contract/endpoint-problems.ts";
import { Problem, type ProblemOptions } from "#contract/problem.ts";

/** A refusal that any path may meet; the reference of every path has it. */
export const ingressProblem = (code: IngressCode | ListenerCode, options: ProblemOptions = {}): Problem => new Problem(code, options);
