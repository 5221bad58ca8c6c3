import { packYaml } from "#parsing/yaml-document.ts";
import { answerQuestions } from "#parsing/work-thread.ts";
import { configKinds } from "./config-kinds.ts";
import type { DocumentAnswer, DocumentQuestion } from "./document-reader.ts";

/** Reads large configuration documents: one of 240 kB is one computation of half a second. */
answerQuestions<DocumentQuestion, DocumentAnswer>(({ kind, text, shown, without }) => {
  const read = configKinds[kind].read(text, shown, without);
  return "issues" in read ? read : { ...read, yaml: packYaml(read.yaml) };
});
