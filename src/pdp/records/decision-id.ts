import { randomBytes } from "node:crypto";
import { decisionIdPattern } from "#contract/ids.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;

/**
 * Ids of decision calls: `d_` and a ULID, so that they sort by time. Within a millisecond each id of this maker is greater than the
 * one before. Items of a batch are `<call id>.<index>`.
 */
export const createDecisionIds = (now: () => Date): (() => string) => {
  let lastTime = -1;
  let last: number[] = [];
  return () => {
    const time = Math.max(now().getTime(), lastTime);
    if (time === lastTime) increment(last);
    else last = Array.from(randomBytes(RANDOM_CHARS), (byte) => byte & 31);
    lastTime = time;
    let left = time;
    let head = "";
    for (let at = 0; at < TIME_CHARS; at++) {
      head = `${ALPHABET[left % 32] ?? ""}${head}`;
      left = Math.floor(left / 32);
    }
    return `d_${head}${last.map((digit) => ALPHABET[digit]).join("")}`;
  };
};

/** The next greater number, in base 32; after the greatest comes zero, which no process lives to see. */
const increment = (digits: number[]): void => {
  for (let at = digits.length - 1; at >= 0; at--) {
    const next = ((digits[at] ?? 0) + 1) % 32;
    digits[at] = next;
    if (next !== 0) return;
  }
};

export interface DecisionId {
  readonly callId: string;
  /** Of an item of a batch. */
  readonly index?: number;
}

/** `undefined`: not the form of our ids. */
export const parseDecisionId = (text: string): DecisionId | undefined => {
  const [, callId, index] = decisionIdPattern.exec(text) ?? [];
  if (callId === undefined) return undefined;
  return index === undefined ? { callId } : { callId, index: Number(index) };
};

export const formatDecisionId = ({ callId, index }: DecisionId): string => (index === undefined ? callId : `${callId}.${index}`);
