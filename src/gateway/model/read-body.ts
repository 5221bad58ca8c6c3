import type { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { LARGE_BODY_BYTES, type BodyShare } from "#http/body-shares.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { gatherBytes, guardPlainBody } from "#http/read-bytes.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import type { Inbound, InboundBody } from "./inbound.ts";

const TYPE = /^([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)[ \t]*(?:;(.*))?$/i;
const CHARSET = /^[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*$/i;
const PARAMETER = /^[ \t]*[a-z0-9!#$&^_.+-]+[ \t]*=[ \t]*(?:"[^"\\]*"|[a-z0-9!#$&^_.+'/:()?=@-]+)[ \t]*$/i;

/**
 * Refuses a body of a type that the row does not take; a row may take any, and none. Text is UTF-8: another charset would be another reading of the
 * same bytes. Throws `unsupported_media_type`.
 */
export const guardContentType = (inbound: Inbound, accepted: readonly string[]): void => {
  if (inbound.body === undefined || accepted.includes("*/*")) return;
  const refuse = (): never => {
    throw new Problem("unsupported_media_type", { detail: `Send ${accepted.join(" or ")}.` });
  };
  const found = TYPE.exec(inbound.headers.get("content-type") ?? "");
  if (found === null || !accepted.includes((found[1] as string).toLowerCase())) return refuse();
  for (const parameter of found[2]?.split(";") ?? []) {
    if (parameter.trim() === "") continue;
    if (!PARAMETER.test(parameter)) refuse();
    if (/^[ \t]*charset[ \t]*=/i.test(parameter) && !CHARSET.test(parameter)) refuse();
  }
};

/**
 * The request with a body of which nobody reads more than `limit` bytes, and a large one only in its caller's turn: a row's own limit holds
 * for what the gateway reads itself too.
 */
export const limitBody = (inbound: Inbound, limit: number, share: BodyShare): Inbound =>
  inbound.body === undefined ? inbound : { ...inbound, body: { ...inbound.body, limit, share } };

/** A body that lies here as a whole. */
export const wholeBody = (bytes: Uint8Array<ArrayBuffer>): InboundBody => ({
  length: bytes.byteLength,
  whole: async () => bytes,
  stream: () => new Blob([bytes]).stream(),
  failure: () => undefined,
});

/** The request with the body that a check has read, if one has: whoever looks into it next finds the same bytes. */
export const withReadBody = (inbound: Inbound, bytes: Uint8Array<ArrayBuffer> | undefined): Inbound =>
  bytes === undefined ? inbound : { ...inbound, body: wholeBody(bytes) };

/**
 * Reads a body of at most `limit` bytes, as it was meant: one that is compressed is not what its bytes say. Throws `body_too_large`,
 * `unsupported_media_type`, `rate_limited`, or why the body could not be read.
 */
export const readBody = async (inbound: Inbound, max: number): Promise<Uint8Array<ArrayBuffer>> => {
  if (inbound.body === undefined) return new Uint8Array();
  guardPlainBody(inbound.headers.get("content-encoding"));
  const limit = Math.min(max, inbound.body.limit ?? max);
  if ((inbound.body.length ?? 0) > limit) throw new Problem("body_too_large");
  if (inbound.body.length !== undefined && inbound.body.length <= LARGE_BODY_BYTES) return inbound.body.whole();
  const isLarge = (bytes: number): boolean => bytes > LARGE_BODY_BYTES;
  if (isLarge(inbound.body.length ?? 0)) await inbound.body.share?.take();
  const { share } = inbound.body;
  return gatherBytes(
    inbound.body.stream(),
    limit,
    () => new Problem("body_too_large"),
    (bytes) => (isLarge(bytes) ? share?.take() : undefined),
  );
};

/** Reads a JSON body for the gateway's own endpoints; without a body the shape is held against `undefined`. */
export const readJson = async <T extends z.ZodType>(inbound: Inbound, shape: T, limit = 65_536): Promise<z.output<T>> => {
  guardContentType(inbound, ["application/json"]);
  const bytes = await readBody(inbound, limit);
  const read = shape.safeParse(bytes.byteLength === 0 ? undefined : parseStrictJson(bytes));
  if (read.success) return read.data;
  throw new Problem("invalid_body", { errors: issuesOf(read.error) });
};
