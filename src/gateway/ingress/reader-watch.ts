import type { ServerResponse } from "node:http";

/** Watches that readers take what is written for them. */
export interface ReaderWatch {
  /** Resolves when the reader has made room, or is gone. */
  drained(outgoing: ServerResponse): Promise<void>;
  /** The last of an answer has been written; what is not taken at once waits for its reader like any other piece. */
  ended(outgoing: ServerResponse): void;
}

/**
 * Ends a connection whose reader takes not one byte of what waits for it in `stallMs`; one that takes a little is waited
 * for again. Otherwise whoever asks for much and reads nothing would keep a connection, and memory, for ever.
 */
export const createReaderWatch = (stallMs: number): ReaderWatch => {
  /** The returned function stops it. An answer behind another one on its connection waits for that one, which is watched itself. */
  const watch = (outgoing: ServerResponse): (() => void) => {
    const begin = (): void => void outgoing.socket?.setTimeout(stallMs);
    if (outgoing.socket === null) outgoing.once("socket", begin);
    else begin();
    return () => {
      outgoing.off("socket", begin);
      outgoing.socket?.setTimeout(0);
    };
  };

  // Nearly every answer is taken at once: they are looked at together, when the writes of this turn are done.
  let ends: ServerResponse[] = [];
  const lookAtEnds = (): void => {
    const looked = ends;
    ends = [];
    for (const outgoing of looked) {
      if (outgoing.writableFinished || outgoing.destroyed) continue;
      // Before the server's own listener, which gives the connection its time to rest.
      outgoing.prependOnceListener("finish", watch(outgoing));
    }
  };

  return {
    drained: (outgoing) =>
      new Promise((resolve) => {
        const unwatch = watch(outgoing);
        const done = () => {
          unwatch();
          outgoing.off("drain", done);
          outgoing.off("close", done);
          resolve();
        };
        outgoing.on("drain", done);
        outgoing.on("close", done);
      }),
    ended: (outgoing) => {
      if (ends.length === 0) setImmediate(lookAtEnds);
      ends.push(outgoing);
    },
  };
};
