import type { Mount } from "../../api/secrets.ts";

/** What Sallyport reads of a URI for showing it; whether it is a secret's name at all is the server's to say. */

/** The place among those of the tenant that it lies at. */
export const mountOf = (mounts: readonly Mount[], uri: string): Mount | undefined =>
  mounts
    .filter((mount) => uri === mount.uri || uri.startsWith(`${mount.uri}/`))
    .toSorted((one, other) => other.uri.length - one.uri.length)[0];

/** Mount and path, without the scheme: what is typed before something is destroyed. */
export const pathOf = (uri: string): string => uri.slice(uri.indexOf("://") + 3);

/** The last segment. */
export const nameOf = (uri: string): string => uri.slice(uri.lastIndexOf("/") + 1);

/** Signs that stand for themselves in the canonical form of a key. */
const PLAIN = /%(?:2F|40|3A|24|26|2B|2C|3B|3D)/g;

/** The URI of a key of a secret, in its canonical form. */
export const keyUri = (uri: string, key: string): string => `${uri}#${encodeURIComponent(key).replace(PLAIN, decodeURIComponent)}`;

/** The secret, and its key where the URI names one. */
export const splitKey = (uri: string): { readonly uri: string; readonly key: string | undefined } => {
  const [whole = "", key] = uri.replace(/\?version=[0-9]+$/, "").split("#", 2);
  try {
    return { uri: whole, key: key === undefined ? undefined : decodeURIComponent(key) };
  } catch {
    return { uri: whole, key };
  }
};

export interface TreeNode {
  readonly name: string;
  readonly uri: string;
  /** How many keys it has; `null` where that is not known; absent: it is no secret itself. */
  readonly keys?: number | null;
  readonly below: readonly TreeNode[];
  /** Secrets at and below it. */
  readonly count: number;
}

interface Growing {
  keys?: number | null;
  readonly below: Map<string, Growing>;
}

/** Secrets of a place as a tree, each level in the order of names. A map that holds other maps alone is a folder. */
export const treeOf = (place: string, items: readonly { readonly uri: string; readonly keys: number | null }[]): readonly TreeNode[] => {
  const root: Growing = { below: new Map() };
  for (const { uri, keys } of items) {
    let at = root;
    const rest = uri.slice(place.length).replace(/^\//, "");
    for (const segment of rest === "" ? [nameOf(uri)] : rest.split("/")) {
      const next = at.below.get(segment) ?? { below: new Map<string, Growing>() };
      at.below.set(segment, next);
      at = next;
    }
    at.keys = keys;
  }
  const grown = (growing: Growing, uri: string): readonly TreeNode[] =>
    [...growing.below]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, node]) => {
        const own = name === nameOf(place) && items.some((item) => item.uri === place) && growing === root ? place : `${uri}/${name}`;
        const below = grown(node, own);
        const isSecret = node.keys !== undefined && !(node.keys === 0 && below.length > 0);
        const count = below.reduce((sum, one) => sum + one.count, isSecret ? 1 : 0);
        return { name, uri: own, ...(isSecret ? { keys: node.keys ?? null } : {}), below, count };
      });
  return grown(root, place);
};
