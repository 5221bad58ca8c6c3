import type { Snapshot } from "#crud/tools/catalogue.ts";
import type { Tool } from "#crud/tools/tool.ts";

/** Words of a text: letters and digits, camel case taken apart, lower-case. */
const wordsOf = (text: string): readonly string[] =>
  text
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

/** How much a word says of a tool, by where it stands. */
const WEIGHTS = { name: 8, title: 5, tags: 4, description: 2 } as const;
/** A word that begins like the one that is looked for (employee, employees) says less than the word itself. */
const LIKE = 0.6;
const MIN_LIKE = 3;

interface Index {
  /** Of each tool its words, with the most that each says. */
  readonly words: ReadonlyMap<Tool, ReadonlyMap<string, number>>;
  /** In how many tools a word stands. */
  readonly counts: ReadonlyMap<string, number>;
}

const wordsOfTool = ({ name, definition }: Tool): ReadonlyMap<string, number> => {
  const { title = "", description, annotations } = definition;
  const tags = Array.isArray(annotations?.["tags"]) ? annotations["tags"].join(" ") : "";
  const held = new Map<string, number>();
  for (const [where, text] of Object.entries({ description, tags, title, name }))
    for (const word of wordsOf(text)) held.set(word, Math.max(held.get(word) ?? 0, WEIGHTS[where as keyof typeof WEIGHTS]));
  return held;
};

/** Made once a snapshot: a catalogue of 1,200 tools costs some ten milliseconds. */
const indexes = new WeakMap<Snapshot, Index>();

const indexOf = (snapshot: Snapshot): Index => {
  const held = indexes.get(snapshot);
  if (held !== undefined) return held;
  const words = new Map([...snapshot.tools.values()].map((tool) => [tool, wordsOfTool(tool)]));
  const counts = new Map<string, number>();
  for (const one of words.values()) for (const word of one.keys()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const made = { words, counts };
  indexes.set(snapshot, made);
  return made;
};

const isLike = (one: string, other: string): boolean =>
  Math.min(one.length, other.length) >= MIN_LIKE && (one.startsWith(other) || other.startsWith(one));

/** Those of the tools in which a word of the query stands, the best first: rare words and words of the name count most. Equals by name. */
export const rankTools = (snapshot: Snapshot, tools: readonly Tool[], query: string): readonly Tool[] => {
  const { words, counts } = indexOf(snapshot);
  // What a word of the catalogue says for the query; most say nothing.
  const said = [...new Set(wordsOf(query))].map(
    (wanted) =>
      new Map(
        [...counts].flatMap(([word, count]) => {
          const fit = word === wanted ? 1 : isLike(word, wanted) ? LIKE : 0;
          return fit === 0 ? [] : [[word, fit * Math.log(1 + words.size / count)] as const];
        }),
      ),
  );
  const scoreOf = (tool: Tool): number => {
    const own = [...(words.get(tool) ?? [])];
    return said.reduce((sum, worth) => sum + Math.max(0, ...own.map(([word, weight]) => weight * (worth.get(word) ?? 0))), 0);
  };
  return tools
    .map((tool) => ({ tool, score: scoreOf(tool) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .map(({ tool }) => tool);
};
