import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";

/** What a network or a dying server does to an exchange. */
export type NetworkFailure =
  | { readonly kind: "pass" }
  /** Takes everything, says nothing. */
  | { readonly kind: "hang" }
  /** Breaks the connection as soon as a request arrives. */
  | { readonly kind: "reset" }
  /** Says it has nothing more to say, as soon as a request arrives. */
  | { readonly kind: "half_close" }
  /** So many bytes of the answer, then the end as of a process that was killed. */
  | { readonly kind: "truncate"; readonly bytes: number; readonly how: "end" | "reset" }
  /** One byte of the answer at a time. */
  | { readonly kind: "drip"; readonly everyMs: number }
  /** Bytes that are no answer. */
  | { readonly kind: "garbage"; readonly text: string };

/** A raw TCP proxy before a real server: it passes bytes on, or does to them what `fault` says from the next request on. */
export interface FaultProxy {
  readonly url: string;
  fault: NetworkFailure;
  /** Connections taken so far. */
  readonly taken: () => number;
  /** Breaks every connection and refuses new ones, as a process that is killed. */
  die(): Promise<void>;
  /** The same address again. */
  revive(): Promise<void>;
}

const drip = (bytes: Buffer, everyMs: number, to: Socket): void => {
  let at = 0;
  const timer = setInterval(() => {
    if (to.destroyed || at >= bytes.length) {
      clearInterval(timer);
      return;
    }
    to.write(bytes.subarray(at, at + 1));
    at += 1;
  }, everyMs);
};

export const faultProxy = async (t: Pick<TestContext, "after">, target: string): Promise<FaultProxy> => {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let taken = 0;
  const track = (socket: Socket): Socket => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    return socket.on("error", () => {});
  };

  const serve = (client: Socket): void => {
    taken += 1;
    track(client);
    const server = track(connect({ host: hostname, port: Number(port) }));
    let passed = 0;
    client.on("data", (bytes) => {
      const { fault } = made;
      passed = 0;
      if (fault.kind === "hang") return;
      if (fault.kind === "reset") client.resetAndDestroy();
      else if (fault.kind === "half_close") client.end();
      else if (fault.kind === "garbage") client.end(fault.text, "latin1");
      else server.write(bytes);
    });
    server.on("data", (bytes: Buffer) => {
      const { fault } = made;
      if (fault.kind === "drip") drip(bytes, fault.everyMs, client);
      else if (fault.kind === "truncate") {
        const rest = bytes.subarray(0, Math.max(0, fault.bytes - passed));
        passed += rest.length;
        client.write(rest);
        if (passed < fault.bytes) return;
        // What was written before a reset may be lost with it: it is let out first.
        if (fault.how === "end") client.end();
        else setTimeout(() => client.resetAndDestroy(), 30);
      } else client.write(bytes);
    });
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
  };

  const listener = createServer({ allowHalfOpen: true }, serve);
  const listen = (at: number) => new Promise<void>((resolve) => listener.listen(at, "127.0.0.1", resolve));
  await listen(0);
  const own = (listener.address() as AddressInfo).port;
  const die = async (): Promise<void> => {
    const closed = new Promise((resolve) => listener.close(resolve));
    for (const socket of open) socket.resetAndDestroy();
    await closed;
  };
  const made: FaultProxy = { url: `http://127.0.0.1:${own}`, fault: { kind: "pass" }, taken: () => taken, die, revive: () => listen(own) };
  cleanUp(t, async () => {
    if (listener.listening) await die();
  });
  return made;
};
