import { parentPort, Worker } from "node:worker_threads";

/** Work that would hold the event loop, done in a thread of its own, one question after the other. */
export interface WorkThread<Question, Answer> {
  /** Throws what `ended` makes of it where the thread ended before it answered, or took too long. Cost: two structured clones. */
  ask(question: Question): Promise<Answer>;
}

export interface WorkThreadParts {
  /** The module that calls `answerQuestions`. */
  readonly module: URL;
  readonly name: string;
  readonly ended: (cause: unknown) => Error;
  /** Longest that one answer may take; without end unless said. A thread that takes longer is ended, with all that wait for it. */
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
  const asked = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last = 0;

  const rest = (): void => {
    if (asked.size > 0) return;
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
      else waiting?.reject(parts.ended(new Error(message.failed)));
      rest();
    });
    made.on("error", (error) => void (cause = error));
    made.on("exit", () => {
      if (made !== thread) return;
      thread = undefined;
      for (const { reject } of asked.values()) reject(parts.ended(cause));
      asked.clear();
    });
    return made;
  };

  return {
    ask: async (question) => {
      clearTimeout(idle);
      thread ??= begin();
      const own = thread;
      own.ref();
      const id = ++last;
      const late = parts.mostMs === undefined ? undefined : setTimeout(() => void own.terminate(), parts.mostMs).unref();
      try {
        return await new Promise<Answer>((resolve, reject) => {
          asked.set(id, { resolve, reject });
          own.postMessage({ id, question } satisfies Asked<Question>);
        });
      } finally {
        clearTimeout(late);
      }
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
