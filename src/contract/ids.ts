import { z } from "zod";

/** Node id of the identity graph: case-sensitive, no quote, slash, space or control character. */
export const nodeId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$/, "is not an id");

/** One line of text: no control characters, so nothing that a database refuses or a log breaks on. */
export const plainText = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .regex(/^\P{Cc}*$/u, "holds a control character")
    .refine((text) => text.isWellFormed(), "holds half a surrogate pair");

/** As `plainText`, but with line breaks and tabs: what a person writes. */
export const prose = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .regex(/^[\P{Cc}\n\t]*$/u, "holds a control character")
    .refine((text) => text.isWellFormed(), "holds half a surrogate pair");

/** Id of a decision: of the call, and behind a dot the place in a batch. */
export const decisionIdPattern = /^(d_[0-7][0-9A-HJKMNP-TV-Z]{25})(?:\.(0|[1-9][0-9]{0,3}))?$/;
/** In a path: anything else is no decision, and nobody need be asked about it. */
export const decisionId = z.string().regex(decisionIdPattern, "is not the id of a decision");

/** RFC 3339 UTC with milliseconds. */
export const timestamp = z.iso.datetime({ offset: true });

/** USD with at most 6 decimals, as a JSON number. Inside the house money is integer micro-USD (`bigint`). */
export const usd = z.number().nonnegative();

const MICRO = 1_000_000n;

/** Micro-USD of a decimal USD number; exact for up to 6 decimals. Throws RangeError beyond that or if negative. */
export const microFromUsd = (value: number): bigint => {
  const micro = Math.round(value * 1e6);
  if (!Number.isSafeInteger(micro) || micro < 0 || Math.abs(micro / 1e6 - value) > 1e-9) {
    throw new RangeError("money has at most 6 decimals and is not negative");
  }
  return BigInt(micro);
};

/** Decimal USD of micro-USD, as the wire carries it. */
export const usdFromMicro = (micro: bigint): number => Number(micro) / 1e6;

/** Decimal text with exactly 6 places, as audit entries carry it. */
export const usdText = (micro: bigint): string => {
  const sign = micro < 0n ? "-" : "";
  const whole = micro < 0n ? -micro : micro;
  return `${sign}${whole / MICRO}.${(whole % MICRO).toString().padStart(6, "0")}`;
};

/** Correlation id as accepted from a caller. */
export const correlationIdPattern = /^[A-Za-z0-9._-]{1,128}$/;
