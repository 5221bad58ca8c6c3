import { Problem } from "#contract/problem.ts";
import { formatPrefix, isSegment, type SecretPrefix } from "#secrets/model/secret-uri.ts";
import type { ListedSecret, Listing, SecretNode, SecretProvider } from "#secrets/providers/secret-provider.ts";
import type { KvClient } from "./kv-client.ts";

const MAX_LISTS = 200;
const MAX_NAMES = 10_000;
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

/** Names of a folder in their order, and the one after which there may be more. */
interface Names {
  readonly names: readonly string[];
  readonly next?: string;
}

/** The name in a folder after which it is to be listed, so that nothing behind an id is left out: of the name that holds it the rest is to come. */
const nameBefore = (folder: string, after: string): string =>
  after.startsWith(folder) ? (after.slice(folder.length).split("/")[0] ?? "") : "";

/**
 * Lists folder after folder in the order of the ids, some ahead of need, until it has been too many calls or names, or too long: then it
 * says where the next one goes on. Each listing comes at least one folder further. OpenBao lists a large folder in parts; a store that does
 * not hear of it lists it whole each time.
 */
export const createKvListing = (call: KvClient["call"]): SecretProvider["list"] => {
  const listOne = async (place: SecretPrefix, after: string, limit: number): Promise<Names> => {
    const { data } = await call("LIST", `${pathOf(place, "metadata")}/?after=${encodeURIComponent(after)}&limit=${limit}`);
    const keys = data?.["keys"];
    const listed = Array.isArray(keys) ? keys.filter((name): name is string => typeof name === "string") : [];
    const last = listed.at(-1);
    const isMore = listed.length === limit && last !== undefined && last > after;
    // What no URI can name nobody can ask for. A folder's slash keeps its place among names that begin alike.
    const names = listed.filter((name) => name > after && isSegment(name.replace(/\/$/, ""))).toSorted();
    return { names, ...(isMore ? { next: last } : {}) };
  };

  return async (place, depth, after = "", max = MAX_NAMES) => {
    const ends = performance.now() + LIST_FOR_MS;
    const found: ListedSecret[] = [];
    const lists = new Map<string, Promise<Names>>();
    let stopped: Pick<Listing, "truncatedBy" | "goesOnAt"> = {};
    const add = (at: SecretPrefix): void => {
      const id = formatPrefix(at);
      if (id > after) found.push({ node: nodeOf({ ...at, id }) });
    };
    const startIn = (at: SecretPrefix): string => nameBefore(`${formatPrefix(at)}/`, after);
    const keyOf = (at: SecretPrefix, from: string): string => `${formatPrefix(at)} ${from}`;
    const namesOf = (at: SecretPrefix, from = startIn(at)): Promise<Names> => {
      const known = lists.get(keyOf(at, from)) ?? listOne(at, from, max);
      lists.set(keyOf(at, from), known);
      // One that was asked ahead of need and is not needed fails for nobody.
      known.catch(() => undefined);
      return known;
    };
    const reason = (): Listing["truncatedBy"] =>
      lists.size >= MAX_LISTS ? "calls" : found.length >= max ? "names" : performance.now() > ends ? "time" : undefined;
    const stopAt = (truncatedBy: Listing["truncatedBy"], goesOnAt: string): boolean => {
      if (truncatedBy !== undefined) stopped = { truncatedBy, goesOnAt };
      return truncatedBy !== undefined;
    };

    const walkNames = async (parent: SecretPrefix, names: readonly string[], levels: number): Promise<void> => {
      const children = names.map((name) => {
        const isFolder = name.endsWith("/");
        return { isFolder, at: { ...parent, segments: [...parent.segments, isFolder ? name.slice(0, -1) : name] } };
      });
      const folders = levels > 1 ? children.filter(({ isFolder, at }) => isFolder && !isBefore(`${formatPrefix(at)}/`, after)) : [];
      for (const { isFolder, at } of children) {
        if (!isFolder) {
          const last = found.at(-1);
          if (last !== undefined && found.length >= max && stopAt("names", last.node.id)) return;
          add(at);
        } else if (at === folders[0]?.at) {
          const id = `${formatPrefix(at)}/`;
          const isNew = id > after && !lists.has(keyOf(at, startIn(at)));
          if (isNew && stopAt(reason(), id)) return;
          for (const ahead of folders.slice(0, LISTS_AT_ONCE)) if (lists.size < MAX_LISTS) void namesOf(ahead.at);
          await walk(at, levels - 1);
          if (stopped.truncatedBy !== undefined) return;
          folders.shift();
        }
      }
    };
    const walk = async (parent: SecretPrefix, levels: number): Promise<void> => {
      let { names, next } = await namesOf(parent);
      for (;;) {
        await walkNames(parent, names, levels);
        if (stopped.truncatedBy !== undefined || next === undefined) return;
        // Behind all that lies in a folder, and before whatever comes after it.
        if (stopAt(reason(), `${formatPrefix(parent)}/${next}${next.endsWith("/") ? "\uffff" : ""}`)) return;
        ({ names, next } = await namesOf(parent, next));
      }
    };
    // Who may not list has no listing, which says nothing of any secret.
    const requireList = (error: unknown): never => {
      if (!(error instanceof Problem) || error.code !== "provider_denied") throw error;
      throw new Problem("not_supported", { detail: "The store does not let Sallyport list here.", cause: error });
    };
    if (place.segments.length > 0 && (await call("GET", pathOf(place, "metadata"))).data !== undefined) add(place);
    if (depth > 0) await walk(place, depth).catch(requireList);
    return { items: found, ...stopped };
  };
};
