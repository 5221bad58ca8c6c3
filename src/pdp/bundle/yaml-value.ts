import { visit, type Document, type LineCounter } from "yaml";
import type { Finding } from "./findings.ts";

/**
 * What a document of the bundle says, with at most so many aliases; `undefined` and a finding where it says too much by aliases, or by one
 * that leads nowhere.
 */
export const readYamlValue = (
  document: Document,
  lines: LineCounter,
  file: string,
  maxAliasCount: number,
  faults: Finding[],
): { readonly value: unknown } | undefined => {
  try {
    return { value: document.toJS({ maxAliasCount }) as unknown };
  } catch (error) {
    let at: number | undefined;
    visit(document, {
      Alias: (_key, node) => {
        at = node.range?.[0];
        return visit.BREAK;
      },
    });
    const { line, col } = at === undefined ? {} : lines.linePos(at);
    const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "is not read";
    faults.push({
      path: file,
      file,
      ...(line === undefined || col === undefined ? {} : { line, column: col }),
      message: at !== undefined && maxAliasCount === 0 ? "has an alias: write out what it stands for" : why,
    });
    return undefined;
  }
};
