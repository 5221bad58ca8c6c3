import { parentPort, Worker } from "node:worker_threads";

/** Work that would hold the event loop, done in a thread of its own, one question after the other. */
export interface WorkThread<Question, Answer> {
  /** Throws what `ended` makes of it where the thread ended before it answered, or took too long. Cost: two structured clones. */
  ask(question: Question): Promise<Answer>;
}

/** Why there is no answer: it took too long, needed more than the thread's heap, or the thread did not start or threw. */
export type WorkEnd = "late" | "memory" | "failed";

export interface WorkThreadParts {
  /** The module that calls `answerQuestions`. */
  readonly module: URL;
  readonly name: string;
  readonly ended: (cause: unknown, why: WorkEnd) => Error;
  /** Longest that one answer may take; without end unless said. A thread that takes longer is ended; those that waited behind it are asked anew. */
  readonly mostMs?: number;
  /** Heap of the thread, MiB; Node's own measure unless said. */
  readonly heapMebibytes?: number;
}

interface Asked<Question> {
  readonly id: number;
  readonly question: Question;
}
type Answered<Answer> = { readonly id: number } & ({ readonly answer: Answer } | { readonly failed: string });

const IDLE_MS = 30_000;

/** A thread that is started when it is needed and ends when it was idle for a while. It keeps no process alive but while it is asked. */
export const createWorkThread = <Question, Answer>(parts: WorkThreadParts): WorkThread<Question, Answer> => {
  /** In the order in which they are answered: the first is the one that the thread is at. */
  const asked = new Map<number, { readonly question: Question; resolve(answer: Answer): void; reject(error: Error): void }>();
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;
  /** The thread that was ended for taking too long. */
  let slow: Worker | undefined;
  let last = 0;

  /** The thread goes on with the next question, or rests. */
  const next = (): void => {
    clearTimeout(late);
    if (asked.size > 0) {
      const own = thread;
      const end = (): void => {
        slow = own;
        void own?.terminate();
      };
      late = parts.mostMs === undefined ? undefined : setTimeout(end, parts.mostMs).unref();
      return;
    }
    thread?.unref();
    idle = setTimeout(() => {
      const gone = thread;
      thread = undefined;
      void gone?.terminate();
    }, IDLE_MS).unref();
  };
  const begin = (): Worker => {
    const heap = parts.heapMebibytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: parts.heapMebibytes } };
    const made = new Worker(parts.module, { name: parts.name, execArgv: [], ...heap });
    let cause: unknown;
    made.on("message", (message: Answered<Answer>) => {
      const waiting = asked.get(message.id);
      asked.delete(message.id);
      if ("answer" in message) waiting?.resolve(message.answer);
      else waiting?.reject(parts.ended(new Error(message.failed), "failed"));
      next();
    });
    made.on("error", (error) => void (cause = error));
    made.on("exit", () => {
      if (made !== thread) return;
      thread = undefined;
      const [first] = asked;
      if (first === undefined) return;
      asked.delete(first[0]);
      const isFull = cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY";
      first[1].reject(parts.ended(cause, made === slow ? "late" : isFull ? "memory" : "failed"));
      if (asked.size === 0) return clearTimeout(late);
      thread = begin();
      for (const [id, { question }] of asked) thread.postMessage({ id, question } satisfies Asked<Question>);
      next();
    });
    return made;
  };

  return {
    ask: (question) => {
      clearTimeout(idle);
      thread ??= begin();
      const own = thread;
      own.ref();
      const id = ++last;
      return new Promise<Answer>((resolve, reject) => {
        own.postMessage({ id, question } satisfies Asked<Question>);
        asked.set(id, { question, resolve, reject });
        if (asked.size === 1) next();
      });
    },
  };
};

/** The thread's side; what `answer` throws is the failure of that question alone. */
export const answerQuestions = <Question, Answer>(answer: (question: Question) => Answer): void => {
  const port = parentPort;
  if (port === null) throw new Error("it is the module of a worker");
  port.on("message", ({ id, question }: Asked<Question>) => {
    let message: Answered<Answer>;
    try {
      message = { id, answer: answer(question) };
    } catch (error) {
      message = { id, failed: String(error) };
    }
    port.postMessage(message);
  });
};
