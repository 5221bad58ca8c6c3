import { Problem } from "#contract/problem.ts";
import { guardPlainBody } from "./plain-body.ts";

const fromSocket = Symbol("from a socket");
interface Marked {
  [fromSocket]?: true;
}

/** Says that the request was read by Node's HTTP parser, which gives exactly as many bytes of a body as Content-Length announces. */
export const markFromSocket = (request: Request): Request => {
  (request as Request & Marked)[fromSocket] = true;
  return request;
};

const readPieces = async (body: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.byteLength;
    if (size > limit) throw new Problem("body_too_large");
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
};

/**
 * Reads at most `limit` bytes, whatever Content-Length says. From a socket a body of a length that is known comes as a whole,
 * without a stream in between; every other one piece by piece. Throws `body_too_large`, `unsupported_media_type` for an encoded
 * one, and `body_unreadable` where it breaks off.
 */
export const readBytes = async (request: Request, limit: number): Promise<Uint8Array> => {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > limit) throw new Problem("body_too_large");
  if (length !== "0" && (length !== null || request.body !== null)) guardPlainBody(request.headers.get("content-encoding"));
  // Both headers at once are no message that the parser lets in; the second look costs nothing.
  const isWhole = length !== null && (request as Request & Marked)[fromSocket] === true && !request.headers.has("transfer-encoding");
  try {
    if (isWhole) return new Uint8Array(await request.arrayBuffer());
    return request.body === null ? new Uint8Array() : await readPieces(request.body, limit);
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem("body_unreadable", { detail: "The body broke off.", cause });
  }
};
