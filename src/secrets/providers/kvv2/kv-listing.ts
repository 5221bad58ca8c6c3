import { formatPrefix, isSegment, type SecretPrefix } from "#secrets/secret-uri.ts";
import type { ListedSecret, Listing, SecretNode, SecretProvider } from "#secrets/providers/secret-provider.ts";
import type { KvClient } from "./kv-client.ts";

const MOST_LISTS = 200;
const MOST_NAMES = 10_000;
const LIST_FOR_MS = 5000;
const LISTS_AT_ONCE = 8;

/** Path of a place below one of its mount's verbs (`data`, `metadata`, ...). */
export const pathOf = (ref: SecretPrefix, verb: string): string => [ref.mount, verb, ...ref.segments].join("/");

export const nodeOf = ({ scheme, mount, segments, key, id }: SecretNode): SecretNode => ({
  scheme,
  mount,
  segments,
  key,
  id,
});

/** Lists level by level, a few places at once, until it has been too many calls or names, or too long. */
export const createKvListing = (call: KvClient["call"]): SecretProvider["list"] => {
  const listOne = async (place: SecretPrefix): Promise<readonly string[]> => {
    const { data } = await call("LIST", `${pathOf(place, "metadata")}/`);
    const keys = data?.["keys"];
    return Array.isArray(keys) ? keys.filter((name): name is string => typeof name === "string") : [];
  };
  const childOf = (place: SecretPrefix, name: string): SecretPrefix => ({ ...place, segments: [...place.segments, name] });

  return async (place, depth) => {
    const ends = performance.now() + LIST_FOR_MS;
    const found: ListedSecret[] = [];
    const add = (at: SecretPrefix): void => void found.push({ node: nodeOf({ ...at, id: formatPrefix(at) }) });
    if (place.segments.length > 0 && (await call("GET", pathOf(place, "metadata"))).data !== undefined) add(place);
    let level: readonly SecretPrefix[] = [place];
    let calls = 0;
    let truncatedBy: Listing["truncatedBy"];
    for (let deep = 0; deep < depth && level.length > 0 && truncatedBy === undefined; deep++) {
      const below: SecretPrefix[] = [];
      for (let at = 0; at < level.length && truncatedBy === undefined; at += LISTS_AT_ONCE) {
        const batch = level.slice(at, at + LISTS_AT_ONCE);
        if (calls + batch.length > MOST_LISTS) truncatedBy = "calls";
        else if (found.length > MOST_NAMES) truncatedBy = "names";
        else if (performance.now() > ends) truncatedBy = "time";
        if (truncatedBy !== undefined) break;
        calls += batch.length;
        const names = await Promise.all(batch.map(listOne));
        for (const [index, parent] of batch.entries())
          for (const name of names[index] ?? []) {
            const isFolder = name.endsWith("/");
            const plain = isFolder ? name.slice(0, -1) : name;
            // What no URI can name nobody can ask for.
            if (!isSegment(plain)) continue;
            if (isFolder) below.push(childOf(parent, plain));
            else add(childOf(parent, plain));
          }
      }
      level = below;
    }
    const items = found.toSorted((one, other) => (one.node.id < other.node.id ? -1 : 1));
    return { items, truncatedBy };
  };
};
