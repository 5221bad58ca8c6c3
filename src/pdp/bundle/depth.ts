import { walkPlaces } from "./findings.ts";

/** Brackets in brackets. Cedar's parser, a WebAssembly program with a stack of 1 MiB, breaks down at about 117. */
export const MAX_BRACKETS = 32;
/** Expressions in expressions, of which a chain such as `a && b && c` is one too. Cedar breaks down at about 363. */
export const MAX_DEPTH = 150;

export interface TooDeep {
  readonly message: string;
  readonly hint: string;
  readonly line: number;
  readonly column: number;
}

/** One level of brackets as it is read: how deep the expression is that stands there so far. */
interface Level {
  /** Operators that chain: each puts what stands before it one deeper. */
  chain: number;
  /** Deepest operand that has ended. */
  deepest: number;
  /** The operand under way: members, calls and brackets. */
  operand: number;
  /** Deepest of the elements that have ended, in a list. */
  elements: number;
}

const newLevel = (): Level => ({ chain: 0, deepest: 0, operand: 0, elements: 0 });

// Comments and texts first, so that nothing in them counts; `<` and `>` are brackets in a schema alone.
const TOKENS = /\/\/[^\n]*|"(?:[^"\\]|\\[^])*"?|&&|\|\||[=!<>]=|[()[\]{}<>,;.!+*-]|\b(?:when|unless|if|then|else|in|has|like|is)\b/g;
const OPENING = new Set(["(", "[", "{"]);
const CLOSING = new Set([")", "]", "}"]);
const CHAINING = new Set(["&&", "||", "+", "-", "*", "if", "then", "else", "when", "unless"]);
const RELATING = new Set(["==", "!=", "<=", ">=", "<", ">", "in", "has", "like", "is", "!", "."]);

const depthOf = ({ chain, deepest, operand, elements }: Level): number => Math.max(elements, chain + Math.max(deepest, operand));

/**
 * The first place where a text of policies (or a schema) is deeper than Cedar can take without danger, before Cedar sees it; an upper
 * bound, read in one pass. `undefined`: it is not.
 */
export const findTooDeep = (text: string, of: "policies" | "schema"): TooDeep | undefined => {
  const placeAt = walkPlaces(text);
  const opening = of === "schema" ? new Set([...OPENING, "<"]) : OPENING;
  const closing = of === "schema" ? new Set([...CLOSING, ">"]) : CLOSING;
  const levels: Level[] = [newLevel()];
  const top = (): Level => levels.at(-1) as Level;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    const level = top();
    if (opening.has(token)) levels.push(newLevel());
    else if (closing.has(token)) {
      if (levels.length > 1) levels.pop();
      top().operand = Math.max(top().operand, depthOf(level)) + 1;
    } else if (token === ",") {
      level.elements = depthOf(level);
      Object.assign(level, { chain: 0, deepest: 0, operand: 0 });
    } else if (token === ";") {
      // In a policy's body there is none: whatever was left open, another policy begins.
      levels.splice(0, levels.length, newLevel());
    } else if (CHAINING.has(token)) {
      level.chain += 1;
      level.deepest = Math.max(level.deepest, level.operand);
      level.operand = 0;
    } else if (RELATING.has(token)) level.operand += 1;
    if (levels.length - 1 > MAX_BRACKETS)
      return {
        message: `there are more than ${MAX_BRACKETS} brackets within one another`,
        hint: "Take some of them away, or make several policies of it.",
        ...placeAt(index),
      };
    if (of === "policies" && depthOf(top()) > MAX_DEPTH)
      return {
        message: `an expression is more than ${MAX_DEPTH} deep`,
        hint: "Make several policies of it, or put a long row of alternatives into a set: resource in [..], [..].contains(..).",
        ...placeAt(index),
      };
  }
  return undefined;
};
