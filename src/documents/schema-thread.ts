import { parseExactJson } from "#contract/exact-numbers.ts";
import type { Fault } from "#contract/problem.ts";
import { prepareSchema } from "./foreign-schema.ts";
import type { SchemaQuestion } from "./schema-issues.ts";
import { answerQuestions } from "./work-thread.ts";

/** About two seconds. */
const MAX_STEPS = 40_000_000;

/** Checks values whose check takes more than the event loop may wait. */
answerQuestions<SchemaQuestion, readonly Fault[]>(({ schema, text, maxIssues }) =>
  prepareSchema(parseExactJson(schema))(parseExactJson(text), MAX_STEPS, maxIssues),
);
