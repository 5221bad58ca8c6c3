import { parseExactJson } from "#contract/exact-numbers.ts";
import { prepareSchema } from "./foreign-schema.ts";
import type { SchemaAnswer, SchemaQuestion } from "./schema-issues.ts";
import type { Place } from "./schema-rules.ts";
import { answerQuestions } from "./work-thread.ts";

/** About a second. */
const MAX_STEPS = 20_000_000;

/** Checks values whose check takes more than the event loop may wait. */
answerQuestions<SchemaQuestion, SchemaAnswer>(({ schema, text, isPlaced }) => {
  const integers: Place[] | undefined = isPlaced ? [] : undefined;
  return { issues: prepareSchema(parseExactJson(schema))(parseExactJson(text), MAX_STEPS, integers), integers };
});
