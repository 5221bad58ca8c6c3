import { Problem } from "#contract/problem.ts";
import { LARGE_BODY_BYTES, takeShare } from "./body-shares.ts";
import { guardPlainBody } from "./plain-body.ts";

const fromSocket = Symbol("from a socket");
interface Marked {
  [fromSocket]?: { readonly peerAddress: string | undefined };
}

/**
 * Says that the request was read by Node's HTTP parser, which gives exactly as many bytes of a body as Content-Length announces, and who is at
 * the other end.
 */
export const markFromSocket = (request: Request, peerAddress: string | undefined): Request => {
  (request as Request & Marked)[fromSocket] = { peerAddress };
  return request;
};

/** Address of the other end of the connection; `undefined` for a request of this process to itself. */
export const peerAddressOf = (request: Request): string | undefined => (request as Request & Marked)[fromSocket]?.peerAddress;

const readPieces = async (request: Request, body: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.byteLength;
    if (size > limit) throw new Problem("body_too_large");
    if (size > LARGE_BODY_BYTES) await takeShare(request);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
};

/**
 * Reads at most `limit` bytes, whatever Content-Length says. From a socket a body of a length that is known comes as a whole,
 * without a stream in between; every other one piece by piece. A large one waits for its caller's place (`body-shares.ts`). Throws
 * `body_too_large`, `unsupported_media_type` for an encoded one, `rate_limited`, and `body_unreadable` where it breaks off.
 */
export const readBytes = async (request: Request, limit: number): Promise<Uint8Array> => {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > limit) throw new Problem("body_too_large");
  if (length !== "0" && (length !== null || request.body !== null)) guardPlainBody(request.headers.get("content-encoding"));
  if (Number(length ?? 0) > LARGE_BODY_BYTES) await takeShare(request);
  // Both headers at once are no message that the parser lets in; the second look costs nothing.
  const isWhole = length !== null && (request as Request & Marked)[fromSocket] !== undefined && !request.headers.has("transfer-encoding");
  try {
    if (isWhole) return new Uint8Array(await request.arrayBuffer());
    return request.body === null ? new Uint8Array() : await readPieces(request, request.body, limit);
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem("body_unreadable", { detail: "The body broke off.", cause });
  }
};
