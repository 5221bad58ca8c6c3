import { Problem } from "#contract/problem.ts";
import { LARGE_BODY_BYTES, takeShare } from "./body-shares.ts";

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

/** Pieces that are stored one by one. */
const MAX_PIECES = 1024;

/** Bytes that come in pieces. Many small ones are joined as they come, because each costs more memory than its bytes. */
export const createPieces = () => {
  const pieces: Uint8Array[] = [];
  let joined = 0;
  return {
    add: (piece: Uint8Array): void => {
      if (pieces.push(piece) - joined > MAX_PIECES) pieces.push(Buffer.concat(pieces.splice(joined++)));
    },
    whole: (): Buffer<ArrayBuffer> => Buffer.concat(pieces),
  };
};

/**
 * All pieces as one, of at most `limit` bytes. With the piece that goes beyond them it throws what `tooLarge` makes, and wants no more.
 * `arrived` is given the bytes so far and those of the piece. It may delay the reading, or end it by what it throws.
 */
export const gatherBytes = async (
  pieces: AsyncIterable<Uint8Array>,
  limit: number,
  tooLarge: () => Error,
  arrived?: (bytes: number, ofPiece: number) => Promise<void> | undefined,
): Promise<Buffer<ArrayBuffer>> => {
  const gathered = createPieces();
  let size = 0;
  for await (const piece of pieces) {
    size += piece.byteLength;
    if (size > limit) throw tooLarge();
    const wait = arrived?.(size, piece.byteLength);
    if (wait !== undefined) await wait;
    gathered.add(piece);
  }
  return gathered.whole();
};

/** Refuses a body that is encoded (`Content-Encoding`): its bytes would be taken for what they are not. Throws `unsupported_media_type`. */
export const guardPlainBody = (encoding: string | null | undefined): void => {
  if (encoding === null || encoding === undefined || /^[ \t]*(?:identity)?[ \t]*$/i.test(encoding)) return;
  throw new Problem("unsupported_media_type", { detail: "Send the body unencoded.", headers: { "accept-encoding": "identity" } });
};

const bodyTooLarge = (): Problem => new Problem("body_too_large");

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
    if (request.body === null) return new Uint8Array();
    return await gatherBytes(request.body, limit, bodyTooLarge, (bytes) => (bytes > LARGE_BODY_BYTES ? takeShare(request) : undefined));
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem("body_unreadable", { detail: "The body broke off.", cause });
  }
};
