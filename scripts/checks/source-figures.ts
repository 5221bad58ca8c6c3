import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";
import { allowed, extremes, privateWords } from "./figure-ceilings.ts";

/** A source file as the figures need it. */
export interface Source {
  readonly path: string;
  readonly isTest: boolean;
  readonly lines: number;
  readonly names: readonly string[];
  readonly comments: readonly string[];
  readonly messages: readonly string[];
  /** Files of this repository that it imports. */
  readonly imports: readonly string[];
  readonly partsTypes: number;
  readonly longParameterLists: number;
}

const MAX_PARAMETERS = 3;
const TESTS = /\.(?:test|contract)\.tsx?$|^(?:src\/testing|e2e)\//;

interface Node {
  readonly type?: string;
  readonly [member: string]: unknown;
}

const walk = (value: unknown, visit: (node: Node) => void): void => {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit);
    return;
  }
  const node = value as Node;
  if (typeof node.type === "string") visit(node);
  for (const member of Object.values(node)) if (typeof member === "object") walk(member, visit);
};

const targetOf = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith("#")) return `src/${specifier.slice(1)}`;
  return specifier.startsWith(".") ? join(dirname(from), specifier) : undefined;
};

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Reads and parses one file. Cost: about a millisecond. */
export const readSource = (path: string): Source => {
  const text = readFileSync(path, "utf8");
  const { program, comments, module } = parseSync(path, text);
  const names: string[] = [path.split("/").at(-1) ?? ""];
  const messages: string[] = [];
  let partsTypes = 0;
  let longParameterLists = 0;
  walk(program, (node) => {
    const { type = "", name, value } = node;
    if ((type === "Identifier" || type === "JSXIdentifier") && typeof name === "string") names.push(name);
    // A text with a blank is for people; any other is a name or a wire value.
    else if (type === "Literal" && typeof value === "string" && value.includes(" ")) messages.push(value);
    else if (type === "TemplateElement") messages.push((value as { readonly raw: string }).raw);
    else if (type === "TSInterfaceDeclaration" || type === "TSTypeAliasDeclaration") {
      if (/(?:Parts|Options)$/.test((node["id"] as { readonly name: string }).name)) partsTypes++;
    }
    const parameters = node["params"];
    if (FUNCTIONS.has(type) && Array.isArray(parameters) && parameters.length > MAX_PARAMETERS) longParameterLists++;
  });
  return {
    path,
    isTest: TESTS.test(path),
    lines: text.split("\n").length - 1,
    names,
    messages,
    comments: comments.map(({ value }) => value),
    imports: module.staticImports.flatMap(({ moduleRequest }) => targetOf(path, moduleRequest.value) ?? []),
    partsTypes,
    longParameterLists,
  };
};

const withoutAllowed = (text: string): string => allowed.reduce((rest, [pattern]) => rest.replaceAll(pattern, " "), text);

/** Words of prose, or of names in camel, snake and kebab case. */
const wordsOf = (text: string): readonly string[] =>
  withoutAllowed(text)
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .match(/[a-z]+/g) ?? [];

/** How often each private word stands in the texts. */
export const countWords = (texts: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const word of wordsOf(text))
      for (const [noun, form] of Object.entries(privateWords)) if (form.test(word)) counts.set(noun, (counts.get(noun) ?? 0) + 1);
  return counts;
};

/** Names that begin with a superlative. */
export const countExtremes = (names: readonly string[]): number =>
  names.filter((name) => /^[A-Z][A-Z_]+$/.test(name) && extremes.test(name.split("_", 1)[0]?.toLowerCase() ?? "")).length;

/** Settings of a module, which all its folders may import. */
const CONFIG = /^src\/[^/]+\/config\.ts$/;

/**
 * Pairs of folders that import each other: siblings at any depth, and the files at a module's root with one of its folders.
 * Tests are left out, and imports of a module's `config.ts`.
 */
export const mutualFolders = (sources: readonly Source[]): { readonly siblings: readonly string[]; readonly roots: readonly string[] } => {
  const edges = new Set<string>();
  for (const { path, imports } of sources)
    for (const target of imports) {
      if (CONFIG.test(target)) continue;
      const from = path.split("/");
      const to = target.split("/");
      let depth = 0;
      while (depth < Math.min(from.length, to.length) - 1 && from[depth] === to[depth]) depth++;
      const parent = from.slice(0, depth).join("/");
      const childOf = (parts: readonly string[]): string => (parts.length - 1 === depth ? "." : (parts[depth] ?? "."));
      const [one, other] = [childOf(from), childOf(to)];
      if (depth >= 2 && one !== other) edges.add(`${parent} ${one} ${other}`);
    }
  const mutual = [...edges].filter((edge) => {
    const [parent, one = "", other = ""] = edge.split(" ");
    return one < other && edges.has(`${parent} ${other} ${one}`);
  });
  const isOfRoot = (edge: string): boolean => edge.includes(" . ");
  return {
    siblings: mutual.filter((edge) => !isOfRoot(edge)),
    roots: mutual.filter((edge) => isOfRoot(edge) && edge.split("/").length === 2),
  };
};
