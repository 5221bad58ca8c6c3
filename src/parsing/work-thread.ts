import { parentPort, Worker } from "node:worker_threads";
import { createTenantTurns, type NotBegun, type TenantTurnsParts, type TurnOf } from "./tenant-turns.ts";

/** Work that would hold the event loop, done in threads of its own. */
export interface WorkThread<Question, Answer> {
  /**
   * Those of one tenant are answered in their order, those of several tenants in turns. Throws what `ended` makes of it where there is no answer:
   * its own question alone is lost, whatever it did to the thread. Cost: two structured clones.
   */
  ask(question: Question, caller?: WorkCaller): Promise<Answer>;
}

/** Who waits for an answer; once `signal` is aborted what waits is dropped, what is under way is ended. */
export type WorkCaller = TurnOf;

/**
 * Why there is no answer: it took too long, needed more than the thread's heap, the thread did not start or threw, too many of the tenant wait, or
 * nobody waits for it.
 */
export type WorkEnd = "late" | "memory" | "failed" | NotBegun;

export interface WorkThreadParts extends Pick<TenantTurnsParts, "maxWaiting"> {
  /** The module that calls `answerQuestions`. */
  readonly module: URL;
  readonly name: string;
  readonly ended: (cause: unknown, why: WorkEnd) => Error;
  /** Processor time that one answer may take, by the clock ten times as long; without end unless given. A thread that takes longer is ended. */
  readonly maxMs?: number;
  /** Heap of a thread, MiB; Node's own measure unless said. */
  readonly heapMebibytes?: number;
  /** How many there are at most, of which one tenant has one at a time: of two, no tenant's work makes another wait. 1 unless given. */
  readonly threads?: number;
}

type Answered<Answer> = { readonly answer: Answer } | { readonly failed: string };

const IDLE_MS = 30_000;
/** How often a thread's time is looked at before it counts as too long by the clock. */
const MAX_LOOKS = 10;

/** Processor time of a thread so far; none of one that does not run. */
const usedMs = (thread: Worker): Promise<number> =>
  thread.cpuUsage().then(
    ({ user, system }) => (user + system) / 1000,
    () => 0,
  );

/** A thread that is started when it is needed and ends when it was idle for a while. It keeps no process alive but while it is asked. */
const createThread = <Question, Answer>(parts: WorkThreadParts) => {
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let answered: (message: Answered<Answer>) => void = () => {};
  let ended: (why: WorkEnd, cause: unknown) => void = () => {};

  const stop = (): void => {
    const gone = thread;
    thread = undefined;
    void gone?.terminate();
  };
  const begin = (): Worker => {
    const heap = parts.heapMebibytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: parts.heapMebibytes } };
    const made = new Worker(parts.module, { name: parts.name, execArgv: [], ...heap });
    let cause: unknown;
    made.on("message", (message: Answered<Answer>) => {
      if (made === thread) answered(message);
    });
    made.on("error", (error) => void (cause = error));
    made.on("exit", () => {
      if (made !== thread) return;
      thread = undefined;
      const isFull = cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY";
      ended(isFull ? "memory" : "failed", cause);
    });
    return made;
  };

  /** One question at a time. */
  return (question: Question, signal: AbortSignal | undefined): Promise<Answer> =>
    new Promise<Answer>((resolve, reject) => {
      const cancel = (): void => ended("cancelled", signal?.reason);
      const over = (): void => {
        isOver = true;
        clearTimeout(late);
        signal?.removeEventListener("abort", cancel);
        answered = () => {};
        ended = () => {};
        thread?.unref();
        idle = setTimeout(stop, IDLE_MS).unref();
      };
      answered = (message) => {
        over();
        if ("answer" in message) resolve(message.answer);
        else reject(parts.ended(new Error(message.failed), "failed"));
      };
      ended = (why, cause) => {
        over();
        stop();
        reject(parts.ended(cause, why));
      };
      clearTimeout(idle);
      signal?.addEventListener("abort", cancel, { once: true });
      const before = thread === undefined ? 0 : usedMs(thread);
      const mine = (thread ??= begin());
      mine.ref();
      let isOver = false;
      let late: NodeJS.Timeout | undefined;
      // By the clock alone a busy machine would end what is short.
      const limit = (leftMs: number, looks: number, maxMs: number): void => {
        const look = async (): Promise<void> => {
          const left = maxMs - (await usedMs(mine)) + (await before);
          if (isOver) return;
          if (left > 0 && looks > 1) limit(left, looks - 1, maxMs);
          else ended("late", undefined);
        };
        late = setTimeout(() => void look(), leftMs).unref();
      };
      if (parts.maxMs !== undefined) limit(parts.maxMs, MAX_LOOKS, parts.maxMs);
      try {
        thread.postMessage(question);
      } catch (cause) {
        ended("failed", cause);
      }
    });
};

/** Threads that are started when they are needed. */
export const createWorkThread = <Question, Answer>(parts: WorkThreadParts): WorkThread<Question, Answer> => {
  const { threads = 1, maxWaiting, ended } = parts;
  const turn = createTenantTurns({ width: threads, maxWaiting, ended });
  const free = Array.from({ length: threads }, () => createThread<Question, Answer>(parts));
  return {
    ask: (question, caller = {}) =>
      turn(caller, async () => {
        const thread = free.pop();
        if (thread === undefined) throw new TypeError("as many are at work as there are threads");
        try {
          return await thread(question, caller.signal);
        } finally {
          free.push(thread);
        }
      }),
  };
};

/** The thread's side; what `answer` throws is the failure of that question alone. */
export const answerQuestions = <Question, Answer>(answer: (question: Question) => Answer): void => {
  const port = parentPort;
  if (port === null) throw new Error("it is the module of a worker");
  port.on("message", (question: Question) => {
    let message: Answered<Answer>;
    try {
      message = { answer: answer(question) };
    } catch (error) {
      message = { failed: String(error) };
    }
    port.postMessage(message);
  });
};
