import { parentPort } from "node:worker_threads";
import { alterText, pack, refusalOf, unpack, wishWith } from "./vault-alter.ts";
import type { ThreadAnswer, ThreadQuestion } from "./vault-work.ts";

/** Reads and makes the text of large secrets files in a thread of its own: reading one is one computation of up to a second. */

const port = parentPort;
if (port === null) throw new Error("vault-thread.ts runs as a worker");

port.on("message", ({ id, text, wish }: ThreadQuestion) => {
  let answer: ThreadAnswer;
  try {
    const done = alterText(text, wishWith(wish, unpack));
    answer = { id, done: { ...done, root: pack(done.root) } };
  } catch (error) {
    answer = { id, refused: refusalOf(error) ?? { problem: "internal" } };
  }
  port.postMessage(answer);
});
