import { MessagePort, parentPort } from "node:worker_threads";
import { examinations, type Asked, type ExaminationName } from "./examinations.ts";
import type { ThreadAnswer } from "./examiner.ts";

/** Examines policies in a thread of its own, one set at a time: Cedar computes on the thread that calls it, for up to seconds. */

const port = parentPort;
if (port === null) throw new Error("examine-thread.ts runs as a worker");

const examine = <Name extends ExaminationName>({ name, asked }: { readonly name: Name; readonly asked: Asked<Name> }): Promise<object> =>
  (examinations[name] as (asked: Asked<Name>) => Promise<object>)(asked);

port.on("message", (question: { readonly name: ExaminationName; readonly asked: Asked<ExaminationName> }) => {
  examine(question).then(
    (answer) => {
      const ports = Object.values(answer).filter((value) => value instanceof MessagePort);
      port.postMessage({ answer } satisfies ThreadAnswer, ports);
    },
    (error: unknown) =>
      port.postMessage({ failed: error instanceof Error ? (error.stack ?? error.message) : "failed" } satisfies ThreadAnswer),
  );
});
