import { Problem } from "#contract/problem.ts";
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

/** Everything at and below a folder comes before `after`. */
const isBefore = (folder: string, after: string): boolean => after > folder && !after.startsWith(folder);

/**
 * Lists folder after folder in the order of the ids, some ahead of need, until it has been too many calls or names, or too long: then it
 * says where the next one goes on. Each listing comes at least one folder further.
 */
export const createKvListing = (call: KvClient["call"]): SecretProvider["list"] => {
  const listOne = async (place: SecretPrefix): Promise<readonly string[]> => {
    const { data } = await call("LIST", `${pathOf(place, "metadata")}/`);
    const keys = data?.["keys"];
    const names = Array.isArray(keys) ? keys.filter((name): name is string => typeof name === "string") : [];
    // What no URI can name nobody can ask for. A folder's slash keeps its place among names that begin alike.
    return names.filter((name) => isSegment(name.replace(/\/$/, ""))).toSorted();
  };

  return async (place, depth, after = "") => {
    const ends = performance.now() + LIST_FOR_MS;
    const found: ListedSecret[] = [];
    const lists = new Map<string, Promise<readonly string[]>>();
    let stopped: Pick<Listing, "truncatedBy" | "goesOnAt"> = {};
    const add = (at: SecretPrefix): void => {
      const id = formatPrefix(at);
      if (id > after) found.push({ node: nodeOf({ ...at, id }) });
    };
    const namesOf = (at: SecretPrefix): Promise<readonly string[]> => {
      const id = formatPrefix(at);
      const known = lists.get(id) ?? listOne(at);
      lists.set(id, known);
      // One that was asked ahead of need and is not needed fails for nobody.
      known.catch(() => undefined);
      return known;
    };
    const reason = (): Listing["truncatedBy"] =>
      lists.size >= MOST_LISTS ? "calls" : found.length > MOST_NAMES ? "names" : performance.now() > ends ? "time" : undefined;

    const walk = async (parent: SecretPrefix, levels: number): Promise<void> => {
      const children = (await namesOf(parent)).map((name) => {
        const isFolder = name.endsWith("/");
        return { isFolder, at: { ...parent, segments: [...parent.segments, isFolder ? name.slice(0, -1) : name] } };
      });
      const folders = levels > 1 ? children.filter(({ isFolder, at }) => isFolder && !isBefore(`${formatPrefix(at)}/`, after)) : [];
      for (const { isFolder, at } of children) {
        if (!isFolder) add(at);
        else if (at === folders[0]?.at) {
          const id = `${formatPrefix(at)}/`;
          const truncatedBy = id > after && !lists.has(formatPrefix(at)) ? reason() : undefined;
          if (truncatedBy !== undefined) stopped = { truncatedBy, goesOnAt: id };
          else {
            for (const ahead of folders.slice(0, LISTS_AT_ONCE)) if (lists.size < MOST_LISTS) void namesOf(ahead.at);
            await walk(at, levels - 1);
            folders.shift();
          }
        }
        if (stopped.truncatedBy !== undefined) return;
      }
    };
    // Who may not list has no listing, which says nothing of any secret.
    const requireList = (error: unknown): never => {
      if (!(error instanceof Problem) || error.code !== "provider_denied") throw error;
      throw new Problem("not_supported", { detail: "The store does not let the house list here.", cause: error });
    };
    if (place.segments.length > 0 && (await call("GET", pathOf(place, "metadata"))).data !== undefined) add(place);
    await walk(place, depth).catch(requireList);
    return { items: found, ...stopped };
  };
};
