import { Problem } from "#contract/problem.ts";
import type { InboundBody } from "#gateway/model/inbound.ts";

/** What is small enough to be read whole before it is sent on: such a request leaves in one piece, or not at all. */
const WHOLE_BYTES = 65_536;

export interface UpstreamBody {
  readonly content: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined;
  /** Why the client's body could not be passed on in full, once that is known. */
  failure(): Problem | undefined;
}

/** Who else minds what a body waits for. */
export interface BodyWatch {
  /** The client is to send more. */
  awaiting(): void;
  /** It has, or has finished. */
  arrived(): void;
}

const noFailure = (): undefined => undefined;

const counted = (
  stream: ReadableStream<Uint8Array>,
  limit: number,
  watch: BodyWatch,
  failed: (problem: Problem) => void,
): ReadableStream<Uint8Array> => {
  const reader = stream.getReader();
  let size = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        watch.awaiting();
        const { done, value } = await reader.read().finally(() => watch.arrived());
        if (done) {
          controller.close();
          return;
        }
        size += value.byteLength;
        if (size > limit) {
          const problem = new Problem("body_too_large");
          failed(problem);
          void reader.cancel(problem).catch(() => {});
          throw problem;
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
};

/**
 * The request's body for the upstream: whole up to 64 KiB of announced length, else streamed with back-pressure and
 * counted on the way. Throws `body_too_large` at once when the announced length is over the limit.
 */
export const meterBody = async (
  body: InboundBody | undefined,
  limit: number,
  alreadyRead: Uint8Array<ArrayBuffer> | undefined,
  watch: BodyWatch,
): Promise<UpstreamBody> => {
  if (alreadyRead !== undefined) {
    if (alreadyRead.byteLength > limit) throw new Problem("body_too_large");
    return { content: alreadyRead, failure: noFailure };
  }
  if (body === undefined) return { content: undefined, failure: noFailure };
  if ((body.length ?? 0) > limit) throw new Problem("body_too_large");
  if (body.length !== undefined && body.length <= WHOLE_BYTES) {
    return { content: await body.whole(), failure: noFailure };
  }
  let own: Problem | undefined;
  const content = counted(body.stream(), limit, watch, (problem) => (own = problem));
  return { content, failure: () => own ?? body.failure() };
};
