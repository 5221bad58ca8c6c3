import { encodeKey } from "#secrets/model/secret-key.ts";
import { formatPrefix, isSegment, type SecretPrefix } from "#secrets/model/secret-uri.ts";
import { isSecretMap, type SecretData, type SecretMap } from "#secrets/model/secret-value.ts";
import type { ListedSecret, SecretChange, SecretNode } from "#secrets/providers/secret-provider.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";

/** What lies at a path; `undefined` where a step is missing or no map. */
export const lookUp = (root: SecretMap, segments: readonly string[]): SecretData | undefined => {
  let here: SecretData | undefined = root;
  for (const segment of segments) {
    if (!isSecretMap(here)) return undefined;
    here = here.get(segment);
  }
  return here;
};

const nodeOf = (place: SecretPrefix, key?: string): SecretNode => ({
  scheme: place.scheme,
  mount: place.mount,
  segments: place.segments,
  key,
  id: key === undefined ? formatPrefix(place) : `${formatPrefix(place)}#${encodeKey(key)}`,
});

/**
 * The maps below a node. A name that cannot be a segment has no URI below it; then its key stands for all that it
 * holds.
 */
const nodesBelow = (place: SecretPrefix, data: SecretData | undefined): SecretNode[] => {
  if (!isSecretMap(data)) return [];
  return [...data].flatMap(([name, item]) => nodesOfChild(place, name, item));
};

/** A map under a key is a node: `a#b` and `a/b` are one thing. Any other value is none. */
const nodesOfChild = (place: SecretPrefix, name: string, data: SecretData | undefined): SecretNode[] => {
  if (!isSecretMap(data)) return [];
  if (!isSegment(name)) return [nodeOf(place, name)];
  const child = { ...place, segments: [...place.segments, name] };
  return [nodeOf(child), ...nodesBelow(child, data)];
};

const unique = (nodes: readonly SecretNode[]): SecretNode[] => [...new Map(nodes.map((node) => [node.id, node])).values()];

/** The secret itself, then every map that reading it would show. */
export const nodesRead = (root: SecretMap, ref: SecretRef): SecretNode[] => {
  const node = lookUp(root, ref.segments);
  const self = nodeOf(ref, ref.key);
  if (ref.key === undefined) return unique([self, ...nodesBelow(ref, node)]);
  return unique([self, ...nodesOfChild(ref, ref.key, isSecretMap(node) ? node.get(ref.key) : undefined)]);
};

/** The secret itself, then every map that the change would set, replace or drop. */
export const nodesChanged = (root: SecretMap, ref: SecretRef, change: SecretChange): SecretNode[] => {
  const node = lookUp(root, ref.segments);
  const present: SecretMap = isSecretMap(node) ? node : new Map();
  const dropped = change.replace ? nodesBelow(ref, present) : [];
  const set: Iterable<readonly [string, SecretData]> =
    ref.key !== undefined ? [[ref.key, change.value]] : isSecretMap(change.value) ? change.value : [];
  const touched = [...set].flatMap(([name, item]) => [...nodesOfChild(ref, name, present.get(name)), ...nodesOfChild(ref, name, item)]);
  return unique([nodeOf(ref, ref.key), ...dropped, ...touched]);
};

/** Every map at and below a place that has a URI and holds something of its own, with the names of its keys. */
export const secretsBelow = (root: SecretMap, place: SecretPrefix, depth: number): ListedSecret[] => {
  const here = place.segments.length === 0 ? root : lookUp(root, place.segments);
  if (!isSecretMap(here)) return [];
  const keys = [...here].filter(([, item]) => !isSecretMap(item)).map(([name]) => name);
  const self = place.segments.length === 0 || keys.length === 0 ? [] : [{ node: nodeOf(place), keys }];
  if (depth === 0) return self;
  const below = [...here.keys()]
    .filter(isSegment)
    .flatMap((name) => secretsBelow(root, { ...place, segments: [...place.segments, name] }, depth - 1));
  return [...self, ...below];
};
