import { Worker } from "node:worker_threads";
import { Problem } from "#contract/problem.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import type { Bundle } from "#pdp/bundle/bundle.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import type { Asked, ExaminationName, Examined } from "./examinations.ts";
import { unpackBundle } from "./packed-bundle.ts";

/** What the thread says to one question. */
export type ThreadAnswer = { readonly answer: object } | { readonly failed: string };

/**
 * `urgent`: what should decide waits for it. It goes before what is in turn, also before what has been begun: that is begun anew
 * afterwards, so nobody keeps a rollback waiting with policies that take long to look at.
 */
export type Urgency = "urgent" | "in turn";

export interface ExaminerLimits {
  /** Longest time for one examination, the start of the thread included. */
  readonly timeoutMs: number;
  /** How long the thread stays when nothing is asked. */
  readonly idleMs: number;
  /** Most that wait, of each urgency. */
  readonly maxWaiting: number;
}

/** Looks at policies beside the event loop. */
export interface Examiner {
  /** Cost: a thread and up to seconds of it. Throws `busy` when too many wait already, `engine_failed` when it ends without an answer. */
  ask<Name extends ExaminationName>(name: Name, asked: Asked<Name>, urgency: Urgency): Promise<Examined<Name>>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Job {
  readonly question: { readonly name: ExaminationName; readonly asked: object };
  readonly urgency: Urgency;
  readonly resolve: (answer: object) => void;
  readonly reject: (problem: Problem) => void;
}

const LIMITS: ExaminerLimits = { timeoutMs: 60_000, idleMs: 30_000, maxWaiting: 8 };
const MEMORY_MB = 1_024;
/** Cedar gives no memory back: after so many examinations another thread begins. */
const MAX_OF_ONE_THREAD = 64;

const failed = (cause: unknown): Problem => new Problem("engine_failed", { detail: "The policies could not be looked at.", cause });

/** One thread, started by the first question, ended when none comes for a while; its death costs the question that it was at. */
export const createExaminer = (limits: Partial<ExaminerLimits> = {}): Examiner => {
  const waiting: Readonly<Record<Urgency, Job[]>> = { urgent: [], "in turn": [] };
  let thread: Worker | undefined;
  let ending: Promise<unknown> | undefined;
  let running: Job | undefined;
  let examined = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const limit = (name: keyof ExaminerLimits): number => limits[name] ?? LIMITS[name];

  /** The question that the thread is at, which is then at none. */
  const take = (): Job | undefined => {
    clearTimeout(timer);
    const job = running;
    running = undefined;
    return job;
  };

  const end = (): void => {
    const gone = thread;
    if (gone === undefined) return;
    thread = undefined;
    ending = gone.terminate().finally(() => {
      ending = undefined;
      next();
    });
  };

  const begin = (): Worker => {
    const made = new Worker(new URL("./examine-thread.ts", import.meta.url), {
      name: "policies",
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    let cause: unknown = "the thread ended";
    examined = 0;
    made.on("message", (said: ThreadAnswer) => {
      if (made !== thread) return;
      const job = take();
      if ("answer" in said) job?.resolve(said.answer);
      else job?.reject(failed(said.failed));
      examined += 1;
      if (examined >= MAX_OF_ONE_THREAD) end();
      next();
    });
    made.on("error", (error) => void (cause = error));
    made.on("exit", () => {
      if (made !== thread) return;
      thread = undefined;
      take()?.reject(failed(cause));
      next();
    });
    return made;
  };

  const next = (): void => {
    if (isClosed || ending !== undefined || running !== undefined) return;
    clearTimeout(timer);
    running = waiting.urgent.shift() ?? waiting["in turn"].shift();
    if (running === undefined) {
      thread?.unref();
      timer = setTimeout(end, limit("idleMs")).unref();
      return;
    }
    thread ??= begin();
    thread.ref();
    timer = setTimeout(() => {
      take()?.reject(failed(`no answer within ${limit("timeoutMs")} ms`));
      end();
    }, limit("timeoutMs"));
    thread.postMessage(running.question);
  };

  const put = (job: Job): void => {
    const lane = waiting[job.urgency];
    if (isClosed) return job.reject(failed("the service is stopping"));
    if (lane.length >= limit("maxWaiting"))
      return job.reject(new Problem("busy", { detail: "Too many policies wait to be looked at.", headers: { "retry-after": "5" } }));
    lane.push(job);
    if (job.urgency === "urgent" && running?.urgency === "in turn") {
      const begun = take();
      if (begun !== undefined) waiting["in turn"].unshift(begun);
      end();
    }
    next();
  };

  return {
    ask: <Name extends ExaminationName>(name: Name, asked: Asked<Name>, urgency: Urgency) =>
      new Promise<Examined<Name>>((resolve, reject) => {
        put({ question: { name, asked }, urgency, resolve: (answer) => resolve(answer as Examined<Name>), reject });
      }),
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      const left = [take(), ...waiting.urgent.splice(0), ...waiting["in turn"].splice(0)];
      for (const job of left) job?.reject(failed("the service is stopping"));
      end();
      await ending;
    },
  };
};

/** As `inspectBundle`, read beside the event loop and taken over in pieces. Throws `BundleRefused`, `busy`, `engine_failed`. */
export const readBundleApart = async (examiner: Examiner, files: PolicyFiles, urgency: Urgency): Promise<Bundle> => {
  const read = await examiner.ask("bundle", { files }, urgency);
  if ("issues" in read) throw new BundleRefused(read.issues);
  return unpackBundle(read, files);
};
