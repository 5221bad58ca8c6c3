import { answerQuestions } from "#parsing/work-thread.ts";
import { lookAtDocument, makeSystem, remakeSystem, type ImportAnswer, type ImportQuestion } from "./import-document.ts";

/** Reads OpenAPI documents and makes systems of them: up to seconds of one computation. */
answerQuestions<ImportQuestion, ImportAnswer>((question) => {
  if (question.kind === "inspect") return lookAtDocument(question.bytes, question.prefix);
  return question.kind === "make" ? makeSystem(question) : remakeSystem(question);
});
