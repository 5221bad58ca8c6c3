import { isObject } from "#contract/is-object.ts";
import type { Issue } from "#contract/problem.ts";
import { mebibytesOf, readYaml, type YamlLimits } from "./yaml-document.ts";
import { refusedTokens } from "./yaml-tokens.ts";

/** Characters that are read at once where they can be told apart; what the reader makes of them takes some 50 times as much memory. */
const SLICE = 262_144;
/** A name as most documents write it; another one is left to the reader. */
const NAME = String.raw`(?:[\w/$~^](?: ?[^\s:#"'\\]|:(?=\S))*|"[^"\\\n]+"|'[^'\n]+')`;
/** A line that begins an entry of a map, its value behind it or below, and one with nothing behind it. */
const ENTRY = new RegExp(`^${NAME}:(?:[ \\t]|\\r?$)`);
const HEAD = new RegExp(`^ *${NAME}:[ \\t]*\\r?\\n`);

type Value = { readonly value: unknown } | { readonly issues: readonly Issue[] };

/** Where each entry of a block map begins; none for what is no such map, or cannot be told from one without a reader. */
const startsOf = (text: string): readonly number[] => {
  const starts: number[] = [];
  let indent: number | undefined;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end === -1 ? text.length : end);
    const column = line.search(/[^ ]/);
    const own = line.slice(column);
    if (column !== -1 && !/^(?:#|\s*$)/.test(own)) {
      indent ??= column;
      if (column < indent) return [];
      if (column === indent) {
        if (ENTRY.test(own)) starts.push(at);
        // A list may stand at the column of the name that it is the value of, and a bracket be closed there.
        else if (starts.length === 0 || !/^(?:-(?:\s|$)|[\]}])/.test(own)) return [];
      }
    }
    at = end === -1 ? text.length : end + 1;
  }
  return starts;
};

/**
 * The value of a large text, an entry after another of the maps that hold it, so that memory is that of a slice; the same as `readYaml` reads,
 * without places. What has anchors, and each entry that is no block map, is read at once: then `mebibytes` is the most that it may have.
 */
export const readYamlSlices = (text: string, file: string, limits: YamlLimits & { readonly mebibytes: number }): Value => {
  const readWhole = (part: string, line: number): Value => {
    if (Buffer.byteLength(part) > limits.mebibytes * 1_048_576) {
      const message = `has a part of ${mebibytesOf(part)} MiB that is read at once, of which ${limits.mebibytes} MiB may be: write it without anchors and with a line for each name, or as JSON`;
      return { issues: [{ path: "", message, code: "yaml_part_too_large", file, line: line + 1, column: 1 }] };
    }
    const { document, issues } = readYaml(part, file, limits);
    return document === undefined ? { issues: issues.map((issue) => ({ ...issue, line: line + (issue.line ?? 1) })) } : document;
  };
  const read = (block: string, before: number): Value => {
    const starts = block.length <= SLICE ? [] : startsOf(block);
    if (starts.length === 0) return readWhole(block, before);
    const value: Record<string, unknown> = {};
    let line = before;
    for (let first = 0, from = 0; first < starts.length;) {
      let next = first + 1;
      const endAt = (index: number): number => starts[index] ?? block.length;
      while (next < starts.length && endAt(next + 1) - from <= SLICE) next++;
      const slice = block.slice(from, endAt(next));
      const start = slice.slice((starts[first] ?? 0) - from);
      const head = next === first + 1 && slice.length > SLICE ? HEAD.exec(start)?.[0] : undefined;
      const skipped = slice.length - start.length;
      const bodyAt = skipped + (head?.length ?? 0);
      const found = readWhole(head === undefined ? slice : slice.slice(0, bodyAt), line);
      if ("issues" in found) return found;
      for (const [name, one] of Object.entries(isObject(found.value) ? found.value : {})) {
        const own = head === undefined ? { value: one } : read(slice.slice(bodyAt), line + linesOf(slice.slice(0, bodyAt)));
        if ("issues" in own) return own;
        if (Object.hasOwn(value, name)) {
          const message = `Map keys must be unique: ${name.slice(0, 100)}`;
          return { issues: [{ path: "", message, code: "yaml", file, line: line + linesOf(slice.slice(0, skipped)) + 1, column: 1 }] };
        }
        value[name] = own.value;
      }
      line += linesOf(slice);
      [first, from] = [next, endAt(next)];
    }
    return { value };
  };
  const plain = text.replace(/^---[ \t]*(?=\r?\n)/, "");
  const { depth = 40 } = limits;
  const sliced = refusedTokens(plain, { depth }).length > 0 ? undefined : read(plain, 0);
  // What is wrong with a text that can be read at once is said by the reader, which knows all of it.
  const isAll = sliced !== undefined && ("value" in sliced || Buffer.byteLength(text) > limits.mebibytes * 1_048_576);
  return isAll ? sliced : readWhole(text, 0);
};

const linesOf = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
};
