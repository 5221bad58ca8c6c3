import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { Problem } from "#contract/problem.ts";
import { gatherBytes } from "#http/read-bytes.ts";
import { strictJsonSteps } from "#http/strict-json.ts";
import { createYieldingOfLong, yielding } from "#http/yielding.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
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

const unpackers: Readonly<Record<string, ((bytes: Uint8Array) => Transform) | undefined>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  // By RFC 9110 in zlib's wrapping; some send it without.
  deflate: ([first = 0]) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
};

interface AnswerLimits {
  readonly maxBytes: number;
  readonly takesBinary?: boolean;
  /** Takes the bytes of each piece that is unpacked. Throws `UpstreamError` where there may be no more. */
  readonly take: (all: number, bytes: number) => undefined;
}

export const tooLarge = (maxBytes: number): Problem =>
  new Problem("output_too_large", {
    detail: `The answer has more than ${maxBytes} bytes: response.maxBytes and onExceed of the system say how many it may have.`,
  });

/** Unpacks what came packed. No more than `maxBytes` are ever made of it. */
const unpack = async (bytes: Buffer, encoding: string | undefined, { maxBytes, take }: AnswerLimits): Promise<Buffer> => {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity" || bytes.byteLength === 0) return bytes;
  const stream = Object.hasOwn(unpackers, name) ? unpackers[name]?.(bytes) : undefined;
  if (stream === undefined) throw new Problem("output_invalid", { detail: "The answer is packed in a way that was not asked for." });
  try {
    return await gatherBytes(stream.end(bytes), maxBytes, () => tooLarge(maxBytes), take);
  } catch (cause) {
    if (cause instanceof Problem || cause instanceof UpstreamError) throw cause;
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

/** What the bytes of an answer say. Throws `output_invalid`, `output_too_large`, and what `take` throws. */
export const readAnswer = async (bytes: Buffer, headers: Readonly<Record<string, string>>, limits: AnswerLimits): Promise<AnswerBody> =>
  parseAnswer(await unpack(bytes, headers["content-encoding"], limits), headers["content-type"] ?? "", limits.takesBinary === true);

/** As MCP shows it. */
export const contentOf = ({ mimeType, base64 }: BinaryBody, callId: string): Readonly<Record<string, unknown>> => {
  const [kind] = mimeType.split("/");
  if (kind === "image" || kind === "audio") return { type: kind, data: base64, mimeType };
  return { type: "resource", resource: { uri: `urn:sallyport:call:${callId}`, mimeType, blob: base64 } };
};
