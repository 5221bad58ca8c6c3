// Check `figures`: measures words, folders, types and pages, prints the table and fails where a figure exceeds its ceiling.
import { globSync, readFileSync } from "node:fs";
import { ceilings, privateWords } from "./figure-ceilings.ts";
import { measurePages } from "./page-figures.ts";
import { countExtremes, countWords, mutualFolders, readSource, type Source } from "./source-figures.ts";

const exclude = ["**/node_modules/**", "**/dist/**"];
/** What names the words to find them. */
const OWN = /^scripts\/checks\/figure(?:-ceilings|s\.test)\.ts$/;
const sources = globSync("{src,web/src,scripts,e2e}/**/*.{ts,tsx}", { exclude })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => !OWN.test(path))
  .map(readSource);
// The glossary and the changelog name what they replace.
const pages = globSync(["README.md", "SECURITY.md", "CONTRIBUTING.md", "{docs,src}/**/*.md"], { exclude }).map((path) =>
  readFileSync(path, "utf8"),
);
const product = sources.filter(({ isTest }) => !isTest);

const words = {
  identifiers: countWords(sources.flatMap(({ names }) => names)),
  comments: countWords(sources.flatMap(({ comments }) => comments)),
  messages: countWords(sources.flatMap(({ messages }) => messages)),
  docs: countWords(pages),
};
const countFaults = (texts: readonly string[]): number => texts.join("\n").match(/\bfaults?\b/gi)?.length ?? 0;
const { siblings, roots } = mutualFolders(product);
const { longLines, longCells, longestCell } = measurePages(pages);
const sum = (of: readonly Source[], count: (source: Source) => number): number => of.reduce((total, source) => total + count(source), 0);

const figures: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    Object.keys(privateWords).flatMap((noun) =>
      // In prose these two are plain English.
      Object.entries(noun === "heard" || noun === "told" ? { identifiers: words.identifiers } : words).map(([place, counts]) => [
        `${noun} in ${place}`,
        counts.get(noun) ?? 0,
      ]),
    ),
  ),
  "MOST_, LONGEST_ and LEAST_ in identifiers": countExtremes(sources.flatMap(({ names }) => names)),
  "fault in comments and docs": countFaults([...sources.flatMap(({ comments }) => comments), ...pages]),
  "sibling folders that import each other": siblings.length,
  "folders and module roots that import each other": roots.length,
  "types named *Parts or *Options": sum(product, ({ partsTypes }) => partsTypes),
  "functions with four or more parameters": sum(product, ({ longParameterLists }) => longParameterLists),
  "lines of docs over 120 columns": longLines,
  "cells of docs over 120 characters": longCells,
  "longest cell of docs": longestCell,
};

const moduleOf = (path: string): string =>
  path.startsWith("src/") ? (path.split("/")[path.split("/").length > 2 ? 1 : 0] ?? "") : (path.split("/", 1)[0] ?? "");
const linesByModule = [...Map.groupBy(product, ({ path }) => moduleOf(path))].map(
  ([module, of]) => [`lines of ${module}`, sum(of, ({ lines }) => lines)] as const,
);

const shown = Object.entries(figures).filter(([, value]) => value > 0);
for (const [name, value] of [...shown, ...linesByModule, ["lines of the product", sum(product, ({ lines }) => lines)] as const])
  console.log(`${String(value).padStart(7)}  ${name}${ceilings[name] === undefined ? "" : ` (at most ${ceilings[name]})`}`);

const MAX_PLACES = 20;
const texts = { identifiers: "names", comments: "comments", messages: "messages" } as const;

/** Files that have the word of a figure, or folders that import each other. */
const placesOf = (figure: string): readonly string[] => {
  if (figure.startsWith("sibling")) return siblings;
  if (figure.startsWith("folders and")) return roots;
  const [noun = "", place = ""] = figure.split(" in ");
  if (!(place in texts)) return [];
  const member = texts[place as keyof typeof texts];
  return sources.filter((source) => countWords(source[member]).has(noun)).map(({ path }) => path);
};

const exceeded = Object.entries(figures).filter(([name, value]) => value > (ceilings[name] ?? (name.startsWith("fault") ? Infinity : 0)));
for (const [name, value] of exceeded) {
  console.error(`${name}: ${value}, at most ${ceilings[name] ?? 0} (scripts/checks/figure-ceilings.ts; CONTRIBUTING.md has the words)`);
  for (const place of placesOf(name).slice(0, MAX_PLACES)) console.error(`  ${place}`);
}
process.exit(exceeded.length === 0 ? 0 : 1);
