import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw, type ZlibOptions } from "node:zlib";
import { Problem } from "#contract/problem.ts";
import { strictJsonSteps } from "#http/strict-json.ts";
import { createYieldingOfLong, yielding } from "#http/yielding.ts";
import { decodeText } from "./decode-text.ts";

/** Bytes that are neither JSON nor text. */
export interface BinaryBody {
  readonly mimeType: string;
  readonly base64: string;
}
export interface AnswerBody {
  /** As expressions read it; of bytes what they are and how many. */
  readonly body: unknown;
  readonly binary?: BinaryBody;
}

/** Members and items of one answer: masking, checking and digesting it cost by each of them. */
const MAX_VALUES = 50_000;

/** What an upstream is asked to pack its answers with. */
export const ACCEPTED_ENCODINGS = "gzip, deflate, br";

type Unpack = (bytes: Uint8Array, options: ZlibOptions) => Promise<Buffer>;
const unzip: Unpack = promisify(gunzip);
const wrapped: Unpack = promisify(inflate);
const bare: Unpack = promisify(inflateRaw);
/** By RFC 9110 in zlib's wrapping; some send it without. */
const unwrap: Unpack = (bytes, options) => (((bytes[0] ?? 0) & 0x0f) === 8 ? wrapped : bare)(bytes, options);
const unpackers: Readonly<Record<string, Unpack | undefined>> = {
  gzip: unzip,
  "x-gzip": unzip,
  deflate: unwrap,
  br: promisify(brotliDecompress),
};

export const tooLarge = (maxBytes: number): Problem =>
  new Problem("output_too_large", {
    detail: `The answer has more than ${maxBytes} bytes: response.maxBytes and onExceed of the system say how many it may have.`,
  });

/** Unpacks what came packed. No more than `maxBytes` are ever made of it. */
const unpack = async (bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> => {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity" || bytes.byteLength === 0) return bytes;
  const work = Object.hasOwn(unpackers, name) ? unpackers[name] : undefined;
  if (work === undefined) throw new Problem("output_invalid", { detail: "The answer is packed in a way that was not asked for." });
  try {
    return await work(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(maxBytes);
    throw new Problem("output_invalid", { detail: "The answer cannot be unpacked.", cause });
  }
};

/** Reads JSON and text; other bytes only where the operation takes them. */
const parseAnswer = async (bytes: Buffer, type: string, takesBinary: boolean): Promise<AnswerBody> => {
  if (bytes.byteLength === 0) return { body: null };
  if (/^application\/(?:[a-z0-9.+-]+\+)?json\b/i.test(type)) {
    try {
      return {
        body: await yielding(strictJsonSteps(bytes, { depth: 64, members: MAX_VALUES, keepsDigits: true }), createYieldingOfLong()),
      };
    } catch (cause) {
      if (cause instanceof Problem && cause.code === "body_too_large")
        throw new Problem("output_too_large", { detail: `The answer has more than ${MAX_VALUES} values.` });
      throw new Problem("output_invalid", { detail: "The answer is not readable JSON.", cause });
    }
  }
  if (/^text\/|^application\/(?:[a-z0-9.+-]+\+)?(?:xml|yaml)\b/i.test(type))
    return { body: await yielding(decodeText(bytes, type), createYieldingOfLong()) };
  if (!takesBinary)
    throw new Problem("output_invalid", { detail: "The answer is neither JSON nor text; output.binary takes other bytes." });
  const given = type.split(";")[0]?.trim().toLowerCase() ?? "";
  const mimeType = /^[a-z]+\/[a-z0-9.+-]{1,100}$/.test(given) ? given : "application/octet-stream";
  return { body: { mime_type: mimeType, bytes: bytes.byteLength }, binary: { mimeType, base64: bytes.toString("base64") } };
};

/** What the bytes of an answer say. Throws `output_invalid`, `output_too_large`, `upstream_bad_response`. */
export const readAnswer = async (
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
  { maxBytes, takesBinary = false }: { readonly maxBytes: number; readonly takesBinary?: boolean },
): Promise<AnswerBody> =>
  parseAnswer(await unpack(bytes, headers["content-encoding"], maxBytes), headers["content-type"] ?? "", takesBinary);

/** As MCP shows it. */
export const contentOf = ({ mimeType, base64 }: BinaryBody, callId: string): Readonly<Record<string, unknown>> => {
  const [kind] = mimeType.split("/");
  if (kind === "image" || kind === "audio") return { type: kind, data: base64, mimeType };
  return { type: "resource", resource: { uri: `urn:sallyport:call:${callId}`, mimeType, blob: base64 } };
};
