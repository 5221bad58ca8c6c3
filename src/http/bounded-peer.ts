import type { Peer } from "#contract/ask.ts";
import { Problem, type ProblemCode } from "#contract/problem.ts";

export interface PeerBounds {
  /** For the whole exchange, the answer's last byte included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** What it is called when a bound is passed. */
  readonly unavailable: ProblemCode;
  /** What it is called when the size alone was passed, if that is another thing: asked again it would be as large. */
  readonly tooLarge?: ProblemCode;
}

/** A peer whose answers are read whole, in time and within a size: whoever asks it can be held up or filled by nobody. */
export const boundPeer =
  (peer: Peer, bounds: PeerBounds): Peer =>
  async (request) => {
    const clock = new AbortController();
    const late = new Problem(bounds.unavailable, { cause: new Error(`no answer in ${bounds.timeoutMs} ms`) });
    const timer = setTimeout(() => clock.abort(late), bounds.timeoutMs);
    const ended = new Promise<never>((_resolve, reject) => {
      clock.signal.addEventListener("abort", () => reject(late), { once: true });
    });
    ended.catch(() => {});
    try {
      const asked = new Request(request, { signal: AbortSignal.any([request.signal, clock.signal]) });
      return await Promise.race([peer(asked).then((response) => readWhole(response, bounds, clock.signal)), ended]);
    } finally {
      clearTimeout(timer);
    }
  };

/** Reads an answer to its end; where that comes too late or too far on, the rest of it is wanted no more. */
const readWhole = async (response: Response, bounds: PeerBounds, late: AbortSignal): Promise<Response> => {
  const { body, status, headers } = response;
  if (body === null) return new Response(null, { status, headers });
  const reader = body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  if (late.aborted) leave();
  else late.addEventListener("abort", leave, { once: true });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    size += step.value.byteLength;
    if (size > bounds.maxBytes) {
      leave();
      throw new Problem(bounds.tooLarge ?? bounds.unavailable, { cause: new Error(`an answer over ${bounds.maxBytes} bytes`) });
    }
    chunks.push(step.value);
  }
  return new Response(Buffer.concat(chunks), { status, headers });
};
