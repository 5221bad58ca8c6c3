import type { Fault } from "#contract/problem.ts";
import { prepareSchema } from "#documents/foreign-schema.ts";
import { answerQuestions } from "#documents/work-thread.ts";
import type { OutputQuestion } from "./output-faults.ts";

/** Holds large answers against their schemas: by the schema, a hundred thousand values take a tenth of a second and more. */
answerQuestions<OutputQuestion, readonly Fault[]>(({ schema, text }) => prepareSchema(schema)(JSON.parse(text)));
