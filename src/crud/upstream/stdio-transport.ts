import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { ReadBuffer, SdkError, SdkErrorCode, serializeMessage, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import type { StartCommand } from "./installed-command.ts";

export interface StdioOptions {
  readonly command: StartCommand;
  /** All that the child sees; nothing of this process's environment is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly maxMessageBytes: number;
  /** A line of the child's standard error. */
  readonly heard: (line: string) => void;
}

const GRACE_MS = 2000;

/** The child had ended, or no longer reads: the message did not reach it as a whole, so nothing can have come of it. */
export const isNotSent = (error: unknown): boolean =>
  SdkError.isInstance(error) && (error.code === SdkErrorCode.SendFailed || error.code === SdkErrorCode.NotConnected);

const notSent = (cause?: unknown): SdkError => new SdkError(SdkErrorCode.SendFailed, "The child is gone.", { cause });

/** Ends a process group: asked first, killed after the grace. Resolves when the child is gone. */
const endGroup = (child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return resolve();
    const signalGroup = (signal: NodeJS.Signals): void => {
      try {
        process.kill(process.platform === "win32" ? (child.pid ?? 0) : -(child.pid ?? 0), signal);
      } catch {
        // It ended between the look and the signal.
      }
    };
    const timer = setTimeout(() => signalGroup("SIGKILL"), GRACE_MS);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.stdin.end();
    signalGroup("SIGTERM");
  });

/**
 * An MCP server as a child process: no shell, an own process group (so that what it starts ends with it), a minimal
 * environment. The child's end closes the transport, and so does the end of its output or its input: a child that can no longer
 * be talked to is ended. What `send` could not deliver is told by `isNotSent`. If this process is killed, the child reads the end of
 * its input.
 */
export const createStdioTransport = (options: StdioOptions): Transport & { readonly pid: number | undefined } => {
  const buffer = new ReadBuffer({ maxBufferSize: options.maxMessageBytes });
  let child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  let isClosed = false;

  const closed = (): void => {
    if (isClosed) return;
    isClosed = true;
    transport.onclose?.();
  };
  const read = (chunk: Buffer): void => {
    try {
      buffer.append(chunk);
      for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage()) transport.onmessage?.(message);
    } catch (error) {
      transport.onerror?.(error as Error);
      void transport.close();
    }
  };

  const transport: Transport & { readonly pid: number | undefined } = {
    get pid() {
      return child?.pid;
    },
    start: () =>
      new Promise((resolve, reject) => {
        const started = spawn(options.command.file, [...options.command.args], {
          cwd: options.cwd,
          env: { ...options.env },
          shell: false,
          detached: process.platform !== "win32",
          stdio: ["pipe", "pipe", "pipe"],
          windowsHide: true,
        });
        child = started;
        started.once("error", (error) => {
          reject(error);
          closed();
        });
        started.once("spawn", () => resolve());
        started.once("exit", closed);
        started.stdout.on("data", read);
        started.stdout.once("end", () => void transport.close());
        started.stderr.setEncoding("utf8");
        started.stderr.on("data", (text: string) => options.heard(text.slice(0, 2000)));
        // A child that reads no more answers writes with EPIPE, which whoever wrote is told.
        started.stdin.on("error", () => void transport.close());
      }),
    send: (message: JSONRPCMessage) =>
      new Promise((resolve, reject) => {
        if (child === undefined || isClosed) return reject(notSent());
        child.stdin.write(serializeMessage(message), (error) =>
          error === null || error === undefined ? resolve() : reject(notSent(error)),
        );
      }),
    close: async () => {
      if (child !== undefined) await endGroup(child);
      buffer.clear();
      closed();
    },
  };
  return transport;
};
