import { isMap, isScalar, isSeq, LineCounter, parseDocument, Scalar, type Document, type Node, type ScalarTag } from "yaml";
import { repeatedKeys } from "#parsing/repeated-keys.ts";
import { refusedTokens } from "#parsing/yaml-tokens.ts";
import { isJsonNumber, keepDigits } from "#contract/exact-numbers.ts";
import type { SecretData, SecretMap } from "#secrets/model/secret-value.ts";
import { VaultFileError } from "./vault-file-error.ts";

const MAX_DEPTH = 32;

/** The file's document, for edits that keep its comments, and the same content as plain maps, for reads. */
export interface Vault {
  readonly document: Document;
  readonly root: SecretMap;
}

/** A number in the file by its very text, so that rewriting the file changes no digit of it. */
interface WrittenNumber {
  readonly writtenNumber: string;
}
const isWrittenNumber = (value: unknown): value is WrittenNumber =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "writtenNumber");

const numberTag: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  // Every form of YAML 1.2 core: decimal, octal, hexadecimal, fractions, exponents, infinities, not a number.
  test: /^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN)$/,
  resolve: (text) => ({ writtenNumber: text }),
  identify: isWrittenNumber,
  stringify: ({ value }) => (isWrittenNumber(value) ? value.writtenNumber : String(value)),
};

const keepNonNumbers = (tag: unknown): boolean =>
  typeof tag !== "string" && !["tag:yaml.org,2002:int", "tag:yaml.org,2002:float"].includes((tag as { tag: string }).tag);

/** A number as JSON may carry it; infinities and not-a-number, which JSON lacks, are read as their text. */
const readNumber = (text: string): SecretData => {
  if (isJsonNumber(text)) return keepDigits(text);
  if (/^(?:0o|0x)/.test(text)) return keepDigits(BigInt(text).toString());
  const plain = text
    .replace(/^\+/, "")
    .replace(/^(-?)\./, "$10.")
    .replace(/\.(?=$|[eE])/, "")
    .replace(/^(-?)0+(?=[0-9])/, "$1");
  return isJsonNumber(plain) ? keepDigits(plain) : text;
};

const toData = (node: unknown): SecretData => {
  if (isMap(node)) {
    return new Map(node.items.map((pair): [string, SecretData] => [isScalar(pair.key) ? String(pair.key.value) : "", toData(pair.value)]));
  }
  if (isSeq(node)) return node.items.map(toData);
  const value = isScalar(node) ? node.value : null;
  if (isWrittenNumber(value)) return readNumber(value.writtenNumber);
  return typeof value === "string" || typeof value === "boolean" ? value : null;
};

/** `<<` without quotes is a merge key elsewhere: what this file says must be what every reader reads. */
const findMergeKey = (node: unknown): Node | undefined => {
  if (isSeq(node)) return firstOf(node.items.map(findMergeKey));
  if (!isMap(node)) return undefined;
  const own = node.items.find((pair) => isScalar(pair.key) && pair.key.value === "<<" && pair.key.type === Scalar.PLAIN)?.key;
  return isScalar(own) ? own : firstOf(node.items.map((pair) => findMergeKey(pair.value)));
};
const firstOf = (found: readonly (Node | undefined)[]): Node | undefined => found.find((one) => one !== undefined);

/** Lines and columns count from 1. */
const issueAt = (message: string, line: number, column: number): VaultFileError =>
  new VaultFileError(`${message} (line ${line}, column ${column})`);

/** Text of a file without secrets. */
export const NO_SECRETS = "{}\n";

/**
 * Parses a secrets file: YAML 1.2 core, one document, a map at the root, no anchors, aliases, tags, merge keys,
 * repeated keys; at most 32 deep. Throws `VaultFileError` with line and column. Cost: O(n).
 */
export const parseVault = (text: string): Vault => {
  const [refused] = refusedTokens(text, { depth: MAX_DEPTH });
  if (refused !== undefined) throw issueAt(refused.message, refused.line, refused.column);
  const lines = new LineCounter();
  const issue = (message: string, offset: number | undefined): VaultFileError => {
    const at = lines.linePos(offset ?? 0);
    return issueAt(message, at.line, at.col);
  };
  const document = parseDocument(text, {
    schema: "core",
    strict: true,
    uniqueKeys: false,
    merge: false,
    stringKeys: true,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: "error", // "silent" would also drop the fault of a second document
    lineCounter: lines,
    customTags: (tags) => [...tags.filter(keepNonNumbers), numberTag],
  });
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) throw issue(`is not YAML that can be used (${wrong.code.toLowerCase()})`, wrong.pos[0]);
  const merge = findMergeKey(document.contents);
  if (merge !== undefined) throw issue("merge keys are not allowed", merge.range?.[0]);
  const [repeated] = repeatedKeys(document);
  if (repeated !== undefined) throw issue("is not YAML that can be used (duplicate_key)", repeated.range?.[0]);
  // No write of ours leaves this: a file that lost its text is never taken for one without secrets.
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null))
    throw issue("is empty: put its text back, or {} for no secrets", 0);
  if (!isMap(document.contents)) throw issue("the file holds a map", document.contents.range?.[0]);
  return { document, root: toData(document.contents) as SecretMap };
};
