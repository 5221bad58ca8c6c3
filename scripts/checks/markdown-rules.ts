import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MicromarkToken, Rule } from "markdownlint";
import { MAX_COLUMNS } from "../reference/markdown.ts";

/** Every token of a page, outermost first. */
const walk = function* (tokens: readonly MicromarkToken[]): Generator<MicromarkToken> {
  for (const token of tokens) {
    yield token;
    yield* walk(token.children);
  }
};

/** The fragment by which GitHub names a heading. */
const fragmentOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");

const fragmentsIn = (path: string): ReadonlySet<string> =>
  new Set([...readFileSync(path, "utf8").matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = ""]) => fragmentOf(heading)));

const CELLS: ReadonlySet<string> = new Set(["tableData", "tableHeader"]);

const cellLength: Rule = {
  names: ["cell-length"],
  description: `A cell of a table holds at most ${MAX_COLUMNS} characters`,
  tags: ["table"],
  parser: "micromark",
  function: ({ parsers }, onError) => {
    for (const { type, text, startLine } of walk(parsers.micromark.tokens)) {
      if (!CELLS.has(type)) continue;
      const { length } = text.replaceAll(/^\||(?<!\\)\|$/g, "").trim();
      if (length > MAX_COLUMNS) onError({ lineNumber: startLine, detail: `It holds ${length}.` });
    }
  },
};

const relativeLink: Rule = {
  names: ["relative-link"],
  description: "A relative link names a file of this repository, and a heading that the file has",
  tags: ["links"],
  parser: "micromark",
  function: ({ name, parsers }, onError) => {
    for (const { type, text, startLine } of walk(parsers.micromark.tokens)) {
      if (type !== "resourceDestinationString" || /^(?:[a-z]+:|#)/.test(text)) continue;
      const [path = "", fragment] = text.split("#", 2);
      const target = join(dirname(name), path);
      if (target.startsWith("..") || !existsSync(target)) onError({ lineNumber: startLine, detail: `There is no ${target}.` });
      else if (fragment !== undefined && !fragmentsIn(target).has(fragment))
        onError({ lineNumber: startLine, detail: `${target} has no heading #${fragment}.` });
    }
  },
};

/** What check `markdown` holds beside markdownlint's own rules. Pages are named relative to the root, which is the working directory. */
export const ownRules: readonly Rule[] = [cellLength, relativeLink];
