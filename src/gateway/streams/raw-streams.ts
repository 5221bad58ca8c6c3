import { Problem } from "#contract/problem.ts";
import type { Answer } from "#gateway/answer.ts";
import type { Proxy, ProxyCall } from "#gateway/proxy/proxy.ts";

/** The same body; `over` is called once, when it has ended, failed or been let go. */
const untilOver = (body: ReadableStream<Uint8Array>, over: () => void): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            controller.enqueue(value);
            return;
          }
          over();
          controller.close();
        } catch (error) {
          over();
          throw error;
        }
      },
      cancel: (reason) => {
        over();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
};

/**
 * Streaming rows without a session: passed on as they are, for as long as the client stays, and counted with no other request.
 * So there are at most `total` of them at once, besides those of sessions. Throws `too_many_streams` (429).
 */
export const createRawStreams = (parts: { readonly total: number }): ((proxy: Proxy, call: ProxyCall) => Promise<Answer>) => {
  let open = 0;
  return async (proxy, call) => {
    if (open >= parts.total) throw new Problem("too_many_streams", { headers: { "retry-after": "5" } });
    open += 1;
    let isOpen = true;
    const release = (): void => {
      if (isOpen) open -= 1;
      isOpen = false;
    };
    try {
      const answer = await proxy.forward(call);
      const { status, headers, body } = answer;
      if (body instanceof ReadableStream) return { status, headers, body: untilOver(body, release) };
      release();
      return answer;
    } catch (error) {
      release();
      throw error;
    }
  };
};
