import { isMap, Pair, Scalar, YAMLMap, YAMLSeq, type Document, type Node } from "yaml";
import { Problem } from "#contract/problem.ts";
import { digitsOf, isRawNumber } from "#contract/exact-numbers.ts";
import { isSecretMap, type SecretData } from "#secrets/model/secret-value.ts";
import type { SecretChange } from "#secrets/providers/secret-provider.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";

/** Keys that other YAML readers could take for something else stand in quotes. */
const plainKey = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const words = /^(?:null|true|false|yes|no|on|off|y|n)$/i;

const keyNode = (name: string): Scalar => {
  const node = new Scalar(name);
  node.type = plainKey.test(name) && !words.test(name) ? Scalar.PLAIN : Scalar.QUOTE_DOUBLE;
  return node;
};

/** Strings always in quotes, numbers by their digits. */
const toNode = (data: SecretData): Node => {
  if (isSecretMap(data)) {
    const map = new YAMLMap();
    for (const [name, item] of data) map.items.push(new Pair(keyNode(name), toNode(item)));
    return map;
  }
  if (Array.isArray(data)) {
    const list = new YAMLSeq();
    for (const item of data as readonly SecretData[]) list.items.push(toNode(item));
    return list;
  }
  if (typeof data === "number" || isRawNumber(data)) return new Scalar({ writtenNumber: digitsOf(data) });
  const node = new Scalar(data);
  if (typeof data === "string") node.type = Scalar.QUOTE_DOUBLE;
  return node;
};

/** Sets or adds; what stood there loses its value but the line keeps its comments. */
const setKey = (map: YAMLMap, name: string, value: Node): void => {
  const pair = map.items.find((one) => one.key instanceof Scalar && one.key.value === name);
  if (pair === undefined) {
    map.items.push(new Pair(keyNode(name), value));
    return;
  }
  const former = pair.value;
  if (former instanceof Scalar && value instanceof Scalar && former.comment) value.comment = former.comment;
  pair.value = value;
};

const isEmpty = (node: unknown): boolean => node === undefined || node === null || (node instanceof Scalar && node.value === null);

/** The map at a path, made where nothing is. Throws `value_shape` where a text or list is in the way. */
const openMap = (document: Document, segments: readonly string[]): YAMLMap => {
  let here = document.contents as YAMLMap;
  // Braces are for an empty file alone.
  if (here.items.length === 0) here.flow = false;
  for (const segment of segments) {
    let next = here.items.find((pair) => pair.key instanceof Scalar && pair.key.value === segment)?.value;
    if (isEmpty(next)) {
      next = new YAMLMap();
      setKey(here, segment, next as Node);
    }
    if (!isMap(next)) throw new Problem("value_shape", { detail: "A step of the path holds a value, no map." });
    here = next;
  }
  return here;
};

/** Carries the change out in the document; comments and everything not named stay. Throws `value_shape`. */
export const applyChange = (document: Document, ref: SecretRef, change: SecretChange): void => {
  const map = openMap(document, ref.segments);
  if (ref.key === undefined && !isSecretMap(change.value))
    throw new Problem("value_shape", { detail: "Without a key in the URI the value is a map." });
  const named: Iterable<readonly [string, SecretData]> =
    ref.key === undefined ? (change.value as ReadonlyMap<string, SecretData>) : [[ref.key, change.value]];
  const entries = [...named];
  if (change.replace) {
    const kept = new Set(entries.map(([name]) => name));
    map.items = map.items.filter((pair) => pair.key instanceof Scalar && kept.has(String(pair.key.value)));
  }
  for (const [name, item] of entries) setKey(map, name, toNode(item));
};

const itemOf = (map: unknown, name: string | undefined): Pair | undefined =>
  isMap(map) ? map.items.find((pair): pair is Pair => pair.key instanceof Scalar && pair.key.value === name) : undefined;

/** Takes out a key, or a path with all below it, and every map above that is empty then. It was looked up before. */
export const removeAt = (document: Document, ref: SecretRef): void => {
  const steps = ref.key === undefined ? [...ref.segments] : [...ref.segments, ref.key];
  while (steps.length > 0) {
    const name = steps.pop();
    const map = steps.reduce<unknown>((here, step) => itemOf(here, step)?.value, document.contents);
    if (!isMap(map)) return;
    map.items = map.items.filter((pair) => pair !== itemOf(map, name));
    if (map.items.length > 0) return;
  }
};

/** The file's text: no folding, strings as JSON writes them. */
export const printVault = (document: Document): string => document.toString({ lineWidth: 0, doubleQuotedAsJSON: true });
