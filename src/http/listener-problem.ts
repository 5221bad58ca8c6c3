import type { ListenerCode } from "#contract/endpoint-problems.ts";
import { Problem, type ProblemOptions } from "#contract/problem.ts";

/** A refusal by a listener before anybody looks at the path: the reference of every endpoint has it. */
export const listenerProblem = (code: ListenerCode, options: ProblemOptions = {}): Problem => new Problem(code, options);
