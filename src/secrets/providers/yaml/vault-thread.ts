import { answerQuestions } from "#parsing/work-thread.ts";
import { alterText, pack, refusalOf, unpack, wishWith } from "./vault-alter.ts";
import type { ThreadAnswer, ThreadQuestion } from "./vault-work.ts";

/** Reads and makes the text of large secrets files in a thread of its own: reading one is one computation of up to a second. */
answerQuestions<ThreadQuestion, ThreadAnswer>(({ text, wish }) => {
  try {
    const done = alterText(text, wishWith(wish, unpack));
    return { done: { ...done, root: pack(done.root) } };
  } catch (error) {
    return { refused: refusalOf(error) ?? { problem: "internal" } };
  }
});
