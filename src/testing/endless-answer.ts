import { setTimeout as wait } from "node:timers/promises";

/** An answer that begins as it should and never ends: a space every 5 ms, for as long as somebody listens. */
export const endlessAnswer = (bytes = 1): Response => {
  let isReceived = true;
  return new Response(
    new ReadableStream({
      pull: async (controller) => {
        await wait(5, undefined, { ref: false });
        if (isReceived) controller.enqueue(new Uint8Array(bytes).fill(0x20));
      },
      cancel: () => {
        isReceived = false;
      },
    }),
    { headers: { "content-type": "application/json" } },
  );
};
