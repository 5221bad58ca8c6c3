import { randomUUID } from "node:crypto";
import { decisionIdPattern } from "#contract/ids.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARS = 10;
/** The last time that ten digits say: far beyond any clock. */
const MAX_TIME = 32 ** TIME_CHARS - 1;

/** 16 random digits in base 32, out of a random UUID: the platform takes those from a pool, where bytes alone cost a call each. */
const randomDigits = (): number[] => {
  const uuid = randomUUID();
  // Around version and variant, which are no chance: 48 bits at each end, of which 40 are used.
  return [...digitsOf(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16), 8), ...digitsOf(Number.parseInt(uuid.slice(24), 16), 8)];
};

/** The lowest digits of a number in base 32, highest first. */
const digitsOf = (number: number, count: number): number[] => {
  const digits: number[] = [];
  for (let unit = 32 ** (count - 1); unit >= 1; unit /= 32) digits.push(Math.floor(number / unit) % 32);
  return digits;
};

const textOf = (digits: readonly number[]): string => {
  let text = "";
  for (const digit of digits) text += ALPHABET.charAt(digit);
  return text;
};

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
    else last = randomDigits();
    lastTime = time;
    return `d_${textOf(digitsOf(time, TIME_CHARS))}${textOf(last)}`;
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

/** Ids of calls from this moment on are greater, those before it are smaller. Milliseconds since 1970. */
export const idPrefixAt = (time: number): string => `d_${textOf(digitsOf(Math.min(Math.max(time, 0), MAX_TIME), TIME_CHARS))}`;

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
