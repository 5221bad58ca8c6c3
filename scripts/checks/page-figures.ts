import { MAX_COLUMNS } from "../reference/markdown.ts";

/** What is measured of pages. */
export interface PageFigures {
  readonly longLines: number;
  readonly longCells: number;
  readonly longestCell: number;
}

const cellsOf = (line: string): readonly string[] => line.split(/(?<!\\)\|/).map((cell) => cell.trim());

/** Lines of prose and code over 120 columns, and cells of tables over 120 characters. A line without a blank cannot be broken. */
export const measurePages = (texts: readonly string[]): PageFigures => {
  const lines = texts.flatMap((text) => text.split("\n"));
  const isTable = (line: string): boolean => line.startsWith("|");
  const cells = lines.filter(isTable).flatMap(cellsOf);
  return {
    longLines: lines.filter((line) => !isTable(line) && line.length > MAX_COLUMNS && line.slice(MAX_COLUMNS).includes(" ")).length,
    longCells: cells.filter(({ length }) => length > MAX_COLUMNS).length,
    longestCell: Math.max(0, ...cells.map(({ length }) => length)),
  };
};
