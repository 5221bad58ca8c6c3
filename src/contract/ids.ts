import { z } from "zod";

/** Node id of the identity graph: case-sensitive, no quote, slash, space or control character. */
export const nodeId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,199}$/, "is not an id");

/** A tenant, as a token names it. */
export const tenantId = z.string().regex(/^tenant:[a-z0-9-]{1,64}$/, "must be of the form tenant:name");

/** Beginnings of ids that are no person's. A person's own may have any other: they are the provider's. */
export const notPersons = "service: agent: group: role: tenant: resource: tool: account: delegation: workflow: saas: policy: system:".split(
  " ",
);
const PERSON = /^(?:person|account):[A-Za-z0-9._:@+~-]{1,200}$/;
/** Whether a text of which nothing else is known names a person or an account, by the form of the ids that Sallyport gives them. */
export const isPersonId = (text: string): boolean => {
  // Most texts are told apart by their first letter.
  const first = text.charCodeAt(0);
  return (first === 0x70 || first === 0x61) && PERSON.test(text);
};

/** Where persons and their accounts stand beside others: whether this may be one. Who asks is told by the token (`actorKindOf`), not by this. */
export const mayBePerson = (id: string): boolean => isPersonId(id) || !notPersons.some((word) => id.startsWith(word));

/** A role that policies speak of: a BusinessRole, and nothing else has such an id. */
export const isRoleId = (id: string): boolean => id.startsWith("role:");

/** Control characters are excluded one by one: as `\P{Cc}` many readers of the reference refuse it. */
const textOf = (allowed: RegExp) => (least: number, max: number) =>
  z
    .string()
    .min(least)
    .max(max)
    .regex(allowed, "holds a control character")
    .refine((text) => text.isWellFormed(), "holds half a surrogate pair");

/** One line of text: no control characters, so nothing that a database refuses or a log breaks on. */
// oxlint-disable-next-line no-control-regex -- they are what is meant
export const plainText = textOf(/^[^\u0000-\u001f\u007f-\u009f]*$/);

/** An id of anything, as somebody sends it. What no id of that kind can be is not found; what no database takes is refused here. */
export const sentId = plainText(1, 1024);

/** Control, bidirectional, tag and zero-width characters: text that a person reads otherwise than a model does. */
export const UNSEEN = /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

/** As `plainText`, but with line breaks and tabs: what a person writes. */
// oxlint-disable-next-line no-control-regex -- they are what is meant
export const prose = textOf(/^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$/);

/** Characters of a reason that whoever edits the graph gives, for its log. */
export const REASON = { least: 3, max: 500 } as const;

const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

/** A number of a query by its text, read as in a body; NaN for any other text. `Number` alone makes 0 of nothing, and 16 of `0x10`. */
export const queryNumber = (given: unknown): unknown =>
  typeof given === "string" ? (JSON_NUMBER.test(given) ? Number(given) : Number.NaN) : given;

/** A whole number of a query. */
export const queryInteger = (least: number, max = Number.MAX_SAFE_INTEGER) =>
  z.preprocess(queryNumber, z.number().int().min(least).max(max));
/** The same where leaving it out means `standard`. */
export const queryIntegerOr = (standard: number, least: number, max = Number.MAX_SAFE_INTEGER) =>
  z.preprocess(queryNumber, z.number().int().min(least).max(max).default(standard));

/** Where a page begins: what the page before gave. */
export const pageCursor = plainText(0, 4096);
/** Of a query for a page of a list: how many items, and where it begins. */
export const cursorPage = { limit: queryIntegerOr(50, 1, 500), cursor: pageCursor.optional() };
/** The same where pages are told by how many items lie before them. */
export const skipPage = { limit: queryIntegerOr(50, 1, 500), skip: queryIntegerOr(0, 0) };
/** What the reply says of such a page. */
export const skippedPage = { limit: z.number().int(), skip: z.number().int(), has_more: z.boolean() };

/** Id of a decision: of the call, and behind a dot the place in a batch. */
export const decisionIdPattern = /^(d_[0-7][0-9A-HJKMNP-TV-Z]{25})(?:\.(0|[1-9][0-9]{0,3}))?$/;
/** In a path: anything else is no decision, and nobody need be asked about it. */
export const decisionId = z.string().regex(decisionIdPattern, "is not the id of a decision");

/** What is no date stays as it is, to be refused. */
const inUtc = (text: string): string => {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
};

/**
 * RFC 3339; read as UTC with milliseconds, whatever offset and fraction it came with: databases and calendars know fewer of both. Years
 * 1 to 9999 of UTC.
 */
export const timestamp = z.iso
  .datetime({ offset: true })
  .overwrite(inUtc)
  .refine((text) => /^(?!0000)\d{4}-/.test(text), "must be in the years 1 to 9999 of UTC");

/** USD with at most 6 decimals, as a JSON number. Inside Sallyport money is integer micro-USD (`bigint`). */
export const usd = z.number().nonnegative();
/** The same as it is sent, at most so much. Its decimals are counted where it becomes micro-USD. */
export const sentUsd = (max: number) => usd.max(max).meta({ multipleOf: 0.000001 });

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

/** Header `Idempotency-Key`: what is sent again with it is not done again. */
export const idempotencyKey = z.string().regex(/^[A-Za-z0-9._:-]{1,128}$/, "must be 1 to 128 of A-Z a-z 0-9 . _ : -");

/** AuthZEN's X-Request-ID, which every answer gives back unchanged. */
export const isRequestId = (id: string): boolean => /^[\x20-\x7e]{1,256}$/.test(id);
export const requestIdIssue = { path: "header.x-request-id", message: "must be 1 to 256 printable ASCII characters" };

/** Correlation id as accepted from a caller. */
export const correlationIdPattern = /^[A-Za-z0-9._-]{1,128}$/;
