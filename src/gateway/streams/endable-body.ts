/** A body that passes on what another one brings, until somebody ends it. */
export interface EndableBody {
  readonly body: ReadableStream<Uint8Array>;
  /**
   * Ends it here and now. `isWhole`: what has been passed on may stand as it is, and the reader sees an end; else it sees a
   * failure: a cut body must not look complete.
   */
  end(isWhole: boolean): void;
}

/** `over` is called once, when it has ended in whatever way; what it came from is let go of. */
export const endableBody = (source: ReadableStream<Uint8Array>, over: () => void): EndableBody => {
  const reader = source.getReader();
  let target: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isOver = false;
  const finish = (): boolean => {
    if (isOver) return false;
    isOver = true;
    over();
    return true;
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        target = controller;
      },
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (isOver) return;
          if (!done) {
            controller.enqueue(value);
            return;
          }
          finish();
          controller.close();
        } catch (error) {
          if (finish()) throw error;
        }
      },
      cancel: (reason) => {
        finish();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    end: (isWhole) => {
      if (!finish()) return;
      if (isWhole) target?.close();
      else target?.error(new Error("the stream was ended"));
      void reader.cancel("the stream was ended").catch(() => {});
    },
  };
};
