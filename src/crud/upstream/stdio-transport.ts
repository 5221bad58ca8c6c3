import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  parseJSONRPCMessage,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { Problem } from "#contract/problem.ts";
import { isObject } from "#contract/is-object.ts";
import type { Claim } from "#http/shares.ts";
import { strictJsonSteps } from "#http/strict-json.ts";
import { createYieldingOfLong, yielding } from "#http/yielding.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import type { Launch } from "#crud/servers/sandbox.ts";
import { answeredBy, createMessageLines, endsOf, isUseless, type LongLine } from "./message-lines.ts";

export interface StdioOptions {
  readonly launch: Launch;
  readonly cwd: string;
  readonly maxMessageBytes: number;
  /** Takes the bytes of a message that is not whole yet; ends with the transport. */
  readonly claim: Claim;
  /** A line of the child's standard error. */
  readonly received: (line: string) => void;
}

const GRACE_MS = 2000;
const LOOK_MS = 20;
/** What a child may say: so many messages in each span, and so many bytes of its standard error. It waits with the rest; others do not. */
const SPAN_MS = 100;
const MAX_MESSAGES = 200;
/** What a line counts that is not read: it repeats the one before, or is no object, or a notification of no use. */
const REPEATED = 0.05;
const NO_MESSAGE = 0.01;
/** Values of a message, each of which is read several times; of a list of tools, whose schemas are passed over. */
const MAX_VALUES = 20_000;
const MAX_OF_TOOLS = 100_000;
/** Items of an answer: what kind each is of is found by trying, and told at length of each that is of none. */
const MAX_CONTENT = 1_000;
const MAX_RECEIVED_BYTES = 65_536;
/** What may wait for a child that does not read. */
const MAX_UNREAD_BYTES = 16_777_216;

/** JSON-RPC code of the error that stands for an answer that is not read: it has too many bytes, values or items. */
export const ANSWER_TOO_LARGE = -32_098;
/** The same for one that cannot be read: nested too deep, a member named twice, no JSON, none of the protocol's forms. */
export const ANSWER_UNREADABLE = -32_097;
/** The same for one that is beyond the share of its bytes. */
export const ANSWER_BEYOND_SHARE = -32_096;

/** A message of a bounded number of values, read. Throws `Problem` `body_too_large` for one of more, anything for what is none. */
const readMessage = async (line: string): Promise<JSONRPCMessage> => {
  const isOfTools = /"tools"\s*:\s*\[/.test(line.slice(0, 256));
  const members = isOfTools ? MAX_OF_TOOLS : MAX_VALUES;
  const steps = strictJsonSteps(line, { depth: 64, members, keepsUnfit: true, tooDeep: "body_too_large" });
  const message = await yielding(steps, createYieldingOfLong());
  // Of an answer that has neither a result nor an error that is an object the library says nothing to whoever waits for it.
  if (
    isObject(message) &&
    typeof message["id"] === "number" &&
    !("method" in message) &&
    !isObject(message["result" in message ? "result" : "error"])
  )
    return { jsonrpc: "2.0", id: message["id"], error: { code: -32_603, message: "What the server answered is no result." } };
  const result = isObject(message) && isObject(message["result"]) ? message["result"] : {};
  const { content, structuredContent, tools } = result;
  const isTooLong = Array.isArray(content) && content.length > MAX_CONTENT;
  if (isTooLong || (isOfTools && (!Array.isArray(tools) || content !== undefined || structuredContent !== undefined)))
    throw new Problem("body_too_large");
  return parseJSONRPCMessage(message);
};

/** The child had ended, or no longer reads: the message did not reach it as a whole, so nothing can have come of it. */
export const isNotSent = (error: unknown): boolean =>
  SdkError.isInstance(error) && (error.code === SdkErrorCode.SendFailed || error.code === SdkErrorCode.NotConnected);

const notSent = (cause?: unknown): SdkError => new SdkError(SdkErrorCode.SendFailed, "The child is gone.", { cause });

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A signal to the child and all that it started in its group; false: nobody is there any more. */
const signalGroup = ({ pid }: Child, signal: NodeJS.Signals | 0): boolean => {
  try {
    return pid !== undefined && process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    return false;
  }
};

/**
 * Ends a process group: asked first, killed after the grace. Resolves when all of it is gone, whoever of it went first. A signal kills a
 * sandbox with all that is in it: there the end of its input is what asks.
 */
const endGroup = async (child: Child, isSandboxed: boolean): Promise<void> => {
  child.stdin.end();
  const gone = async (): Promise<boolean> => {
    for (const until = performance.now() + GRACE_MS; performance.now() < until; await sleep(LOOK_MS))
      if (!signalGroup(child, 0)) return true;
    return false;
  };
  if (signalGroup(child, isSandboxed ? 0 : "SIGTERM") && !(await gone()) && signalGroup(child, "SIGKILL")) await gone();
  // What left the group may hold the other ends of its pipes.
  child.stdout.destroy();
  child.stderr.destroy();
};

/**
 * An MCP server as a child process: no shell, an own process group (so that what it starts ends with it), a minimal
 * environment. Lines that are no message are passed over; an answer beyond `maxMessageBytes`, or of too many values, is the error
 * `ANSWER_TOO_LARGE` of its own request, one that cannot be read `ANSWER_UNREADABLE`. The child's end closes the transport, and so does the end of its output or its input: a child that can no longer
 * be talked to is ended. What `send` could not deliver is told by `isNotSent`. If this process is killed, the child reads the end of
 * its input.
 */
export const createStdioTransport = (options: StdioOptions): Transport & { readonly pid: number | undefined } => {
  const lines = createMessageLines(options.maxMessageBytes, options.claim);
  const waiting: (string | LongLine)[] = [];
  let child: Child | undefined;
  let isClosed = false;
  let ending: Promise<void> | undefined;

  const closed = (): void => {
    if (isClosed) return;
    isClosed = true;
    options.claim[Symbol.dispose]();
    transport.onclose?.();
  };
  const messageOf = async (line: string | LongLine): Promise<JSONRPCMessage | undefined> => {
    let [code, message] = [ANSWER_TOO_LARGE, `The answer has more than ${options.maxMessageBytes} bytes.`];
    if (typeof line === "string") {
      try {
        return await readMessage(line);
      } catch (error) {
        const isTooLarge = error instanceof Problem && error.code === "body_too_large";
        message = `The answer has more than ${MAX_VALUES} values, or ${MAX_CONTENT} items, or is nested too deeply.`;
        if (!isTooLarge) [code, message] = [ANSWER_UNREADABLE, "The answer cannot be read."];
      }
    } else if (line.isBeyondShare) code = ANSWER_BEYOND_SHARE;
    const id = answeredBy(typeof line === "string" ? endsOf(line) : line);
    return id === undefined ? undefined : { jsonrpc: "2.0", id, error: { code, message } };
  };
  let reported = 0;
  let since = 0;
  let before: string | LongLine = "";
  let isTelling = false;
  const tell = async (from: Readable): Promise<void> => {
    if (isTelling) return;
    isTelling = true;
    // What comes while a long list is read waits with the child.
    from.pause();
    if (performance.now() - since > SPAN_MS) [reported, since] = [0, performance.now()];
    for (let line = waiting[0]; line !== undefined && !isClosed; line = waiting[0]) {
      if (reported >= MAX_MESSAGES) {
        isTelling = false;
        setTimeout(() => void tell(from), SPAN_MS).unref();
        return;
      }
      waiting.shift();
      const isMessage = typeof line !== "string" || (line.trimStart().startsWith("{") && !isUseless(endsOf(line)));
      reported += line === before ? REPEATED : isMessage ? 1 : NO_MESSAGE;
      // Who says the same again at once says nothing: a list has changed, and again.
      if (line === before || !isMessage) continue;
      before = line;
      const message = await messageOf(line);
      if (message !== undefined && !isClosed) transport.onmessage?.(message);
    }
    isTelling = false;
    from.resume();
  };
  const read = (chunk: Buffer, from: Readable): void => {
    waiting.push(...lines.feed(chunk));
    void tell(from);
  };
  let receivedBytes = 0;
  const hear = (text: string, from: Readable): void => {
    options.received(text.slice(0, 2000));
    receivedBytes += text.length;
    if (receivedBytes < MAX_RECEIVED_BYTES) return;
    from.pause();
    setTimeout(() => {
      receivedBytes = 0;
      from.resume();
    }, SPAN_MS).unref();
  };

  const transport: Transport & { readonly pid: number | undefined } = {
    get pid() {
      return child?.pid;
    },
    start: () =>
      new Promise((resolve, reject) => {
        const { command, env, input } = options.launch;
        const started = spawn(command.file, [...command.args], {
          cwd: options.cwd,
          env: { ...env },
          shell: false,
          detached: process.platform !== "win32",
          stdio: input === undefined ? ["pipe", "pipe", "pipe"] : ["pipe", "pipe", "pipe", "pipe"],
          windowsHide: true,
        }) as Child;
        const extra = started.stdio[3] as Writable | null | undefined;
        // One that is gone already is told of by its end.
        extra?.on("error", () => undefined).end(input);
        child = started;
        started.once("error", (error) => {
          reject(error);
          closed();
        });
        started.once("spawn", () => resolve());
        started.once("exit", () => {
          closed();
          // What it started goes with it.
          void transport.close();
        });
        started.stdout.on("data", (chunk: Buffer) => read(chunk, started.stdout));
        started.stdout.once("end", () => void transport.close());
        started.stderr.setEncoding("utf8");
        started.stderr.on("data", (text: string) => hear(text, started.stderr));
        // A child that reads no more answers writes with EPIPE, which whoever wrote is told.
        started.stdin.on("error", () => void transport.close());
      }),
    send: (message: JSONRPCMessage) =>
      new Promise((resolve, reject) => {
        if (child === undefined || isClosed) return reject(notSent());
        if (child.stdin.writableLength > MAX_UNREAD_BYTES)
          return reject(new UpstreamError(new Problem("overloaded", { detail: "The upstream process reads too slowly." }), "not_sent"));
        child.stdin.write(serializeMessage(message), (error) =>
          error === null || error === undefined ? resolve() : reject(notSent(error)),
        );
      }),
    close: async () => {
      // Once: the number of a group that is gone may be another's.
      if (child !== undefined) await (ending ??= endGroup(child, options.launch.input !== undefined));
      closed();
    },
  };
  return transport;
};
