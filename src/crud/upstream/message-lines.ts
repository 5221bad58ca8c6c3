import { createPieces } from "#http/read-bytes.ts";
import type { Claim } from "#http/shares.ts";

/** A line that was too long to be stored: its two ends. */
export interface LongLine {
  readonly head: string;
  readonly tail: string;
  /** It was no longer than any may be, but beyond the share. */
  readonly isBeyondShare: boolean;
}

const END_BYTES = 256;
const NEW_LINE = 0x0a;

/** Cuts a stream into lines. No more is stored of one than `maxBytes` and what `claim` gives, and of a longer one only its ends. */
export const createMessageLines = (maxBytes: number, claim: Claim) => {
  let parts = createPieces();
  let size = 0;
  let head: Buffer | undefined;
  let isBeyondShare = false;

  const take = (part: Buffer): void => {
    size += part.byteLength;
    if (head === undefined && size <= maxBytes) {
      if (claim.take(part.byteLength)) return parts.add(part);
      isBeyondShare = true;
    }
    claim.shrinkTo(0);
    const whole = Buffer.concat([parts.whole(), part]);
    head ??= Buffer.from(whole.subarray(0, END_BYTES));
    parts = createPieces();
    // A copy: what is left of a large chunk keeps all of it.
    parts.add(Buffer.from(whole.subarray(-END_BYTES)));
  };
  const end = (): string | LongLine => {
    const text = parts.whole().toString("utf8");
    const line = head === undefined ? text : { head: head.toString("utf8"), tail: text, isBeyondShare };
    [parts, size, head, isBeyondShare] = [createPieces(), 0, undefined, false];
    claim.shrinkTo(0);
    return line;
  };
  return {
    /** The lines that this chunk ends, in their order. */
    feed: (chunk: Buffer): readonly (string | LongLine)[] => {
      const lines: (string | LongLine)[] = [];
      let from = 0;
      for (let at = chunk.indexOf(NEW_LINE); at >= 0; at = chunk.indexOf(NEW_LINE, from)) {
        take(chunk.subarray(from, at));
        lines.push(end());
        from = at + 1;
      }
      take(chunk.subarray(from));
      return lines;
    },
  };
};

/** The two ends of a line that is kept whole. */
export const endsOf = (line: string): LongLine => ({ head: line.slice(0, END_BYTES), tail: line.slice(-END_BYTES), isBeyondShare: false });

const USELESS = String.raw`"method"\s*:\s*"notifications/(?!tools/list_changed")[^"\\]*"`;
const USELESS_AT_HEAD = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${USELESS}`);
const USELESS_AT_TAIL = new RegExp(String.raw`,\s*${USELESS}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);

/** A notification that nobody waits for, such as progress: all but that the list of tools has changed. */
export const isUseless = ({ head, tail }: Pick<LongLine, "head" | "tail">): boolean =>
  USELESS_AT_HEAD.test(head) || USELESS_AT_TAIL.test(tail);

/**
 * The id of the request that a long line answers: it stands at one of its ends, as every library writes it. `undefined`: it is no answer,
 * or nobody can tell whose.
 */
export const answeredBy = ({ head, tail }: LongLine): number | undefined => {
  if (/^\s*\{[^{[]*"method"/.test(head)) return undefined;
  const found =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,/.exec(head) ??
    /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  return found?.[1] === undefined ? undefined : Number(found[1]);
};
