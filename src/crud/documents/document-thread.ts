import { packYaml } from "#parsing/yaml-document.ts";
import { answerQuestions } from "#parsing/work-thread.ts";
import { readSystemText } from "#crud/systems/read-system-text.ts";
import type { DocumentAnswer, DocumentQuestion } from "./document-reader.ts";
import { readToolsDocument } from "./tools-document.ts";

/** Reads large configuration documents: one of 240 kB is one computation of half a second. */
answerQuestions<DocumentQuestion, DocumentAnswer>(({ kind, text, shown, without }) => {
  const read = kind === "system" ? readSystemText(text, shown, without) : readToolsDocument(text, shown);
  return "faults" in read ? read : { ...read, yaml: packYaml(read.yaml) };
});
