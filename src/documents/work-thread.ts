import { parentPort, Worker } from "node:worker_threads";

/** Work that would hold the event loop, done in a thread of its own, one question after the other. */
export interface WorkThread<Question, Answer> {
  /**
   * Those of one tenant are answered in their order, those of several tenants in turns. Throws what `ended` makes of it where there is no answer:
   * its own question alone is lost, whatever it did to the thread. Cost: two structured clones.
   */
  ask(question: Question, asker?: WorkAsker): Promise<Answer>;
}

export interface WorkAsker {
  /** Whose turn it counts to. */
  readonly tenant?: string | undefined;
  /** Aborted when nobody waits for the answer any more: what waits is dropped, what is under way is ended. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Why there is no answer: it took too long, needed more than the thread's heap, the thread did not start or threw, too many of the tenant wait, or
 * nobody waits for it.
 */
export type WorkEnd = "late" | "memory" | "failed" | "full" | "cancelled";

export interface WorkThreadParts {
  /** The module that calls `answerQuestions`. */
  readonly module: URL;
  readonly name: string;
  readonly ended: (cause: unknown, why: WorkEnd) => Error;
  /** Longest that one answer may take; without end unless said. A thread that takes longer is ended. */
  readonly mostMs?: number;
  /** Heap of the thread, MiB; Node's own measure unless said. */
  readonly heapMebibytes?: number;
  /** How many questions of one tenant may wait; any number unless given, and of questions that are no tenant's. */
  readonly maxWaiting?: number;
}

type Answered<Answer> = { readonly answer: Answer } | { readonly failed: string };

interface Job<Question, Answer> {
  readonly question: Question;
  resolve(answer: Answer): void;
  reject(why: WorkEnd, cause: unknown): void;
}

const IDLE_MS = 30_000;

/** A thread that is started when it is needed and ends when it was idle for a while. It keeps no process alive but while it is asked. */
export const createWorkThread = <Question, Answer>(parts: WorkThreadParts): WorkThread<Question, Answer> => {
  /** The tenant whose turn is next comes first. */
  const waiting = new Map<string, Job<Question, Answer>[]>();
  let current: Job<Question, Answer> | undefined;
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;

  /** The job under way is over, and so is its thread. */
  const end = (why: WorkEnd, cause: unknown): void => {
    const [job, gone] = [current, thread];
    current = undefined;
    thread = undefined;
    clearTimeout(late);
    void gone?.terminate();
    job?.reject(why, cause);
    next();
  };
  const next = (): void => {
    if (current !== undefined) return;
    clearTimeout(idle);
    const [first] = waiting;
    if (first === undefined) {
      thread?.unref();
      idle = setTimeout(() => {
        const gone = thread;
        thread = undefined;
        void gone?.terminate();
      }, IDLE_MS).unref();
      return;
    }
    const [tenant, jobs] = first;
    waiting.delete(tenant);
    current = jobs.shift();
    if (jobs.length > 0) waiting.set(tenant, jobs);
    thread ??= begin();
    thread.ref();
    try {
      thread.postMessage(current?.question);
    } catch (cause) {
      return end("failed", cause);
    }
    late = parts.mostMs === undefined ? undefined : setTimeout(() => end("late", undefined), parts.mostMs).unref();
  };
  const begin = (): Worker => {
    const heap = parts.heapMebibytes === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: parts.heapMebibytes } };
    const made = new Worker(parts.module, { name: parts.name, execArgv: [], ...heap });
    let cause: unknown;
    made.on("message", (message: Answered<Answer>) => {
      if (made !== thread) return;
      const job = current;
      current = undefined;
      clearTimeout(late);
      if ("answer" in message) job?.resolve(message.answer);
      else job?.reject("failed", new Error(message.failed));
      next();
    });
    made.on("error", (error) => void (cause = error));
    made.on("exit", () => {
      if (made !== thread) return;
      const isFull = cause instanceof Error && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY";
      end(isFull ? "memory" : "failed", cause);
    });
    return made;
  };

  return {
    ask: (question, { tenant = "", signal } = {}) =>
      new Promise<Answer>((resolve, reject) => {
        const jobs = waiting.get(tenant) ?? [];
        if (signal?.aborted === true) return reject(parts.ended(signal.reason, "cancelled"));
        if (tenant !== "" && jobs.length >= (parts.maxWaiting ?? Infinity)) return reject(parts.ended(undefined, "full"));
        const cancel = (): void => {
          if (current === job) return end("cancelled", signal?.reason);
          const others = waiting.get(tenant)?.filter((one) => one !== job) ?? [];
          if (others.length === 0) waiting.delete(tenant);
          else waiting.set(tenant, others);
          job.reject("cancelled", signal?.reason);
        };
        const job: Job<Question, Answer> = {
          question,
          resolve: (answer) => {
            signal?.removeEventListener("abort", cancel);
            resolve(answer);
          },
          reject: (why, cause) => {
            signal?.removeEventListener("abort", cancel);
            reject(parts.ended(cause, why));
          },
        };
        signal?.addEventListener("abort", cancel, { once: true });
        jobs.push(job);
        waiting.set(tenant, jobs);
        next();
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
