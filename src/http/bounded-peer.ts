import type { Peer } from "#contract/ask.ts";
import { Problem, type ProblemCode } from "#contract/problem.ts";

export interface PeerBounds {
  /** For the whole exchange, the answer's last byte included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** What it is called when a bound is passed. */
  readonly unavailable: ProblemCode;
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
      const response = await Promise.race([peer(asked), ended]);
      const bytes = await Promise.race([readWhole(response, bounds), ended]);
      return new Response(bytes, { status: response.status, headers: response.headers });
    } finally {
      clearTimeout(timer);
    }
  };

const readWhole = async (response: Response, bounds: PeerBounds): Promise<Uint8Array<ArrayBuffer> | null> => {
  if (response.body === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > bounds.maxBytes) throw new Problem(bounds.unavailable, { cause: new Error(`an answer over ${bounds.maxBytes} bytes`) });
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
};
