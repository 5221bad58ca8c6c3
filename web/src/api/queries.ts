import { infiniteQueryOptions, queryOptions, type QueryKey } from "@tanstack/react-query";
import type { AskOptions } from "#contract/ask.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import type { Client } from "./client.ts";

/** Only over what was read with this tag, where one is known. */
export const ifMatch = (etag: string | undefined) => (etag === undefined ? {} : { headers: { "if-match": etag } });

/** The reply of an endpoint as it is; no longer waited for once nobody looks at it. */
export const replyQuery = <E extends Endpoint>(client: Client, queryKey: QueryKey, endpoint: E, options?: AskOptions<E>) =>
  queryOptions({ queryKey, queryFn: async ({ signal }) => await client.ask(endpoint, { ...options, signal }) });

/** Endpoints of different services call it differently. */
interface Page {
  readonly nextCursor?: string | undefined;
  readonly next_cursor?: string | undefined;
}
const nextOf = (page: Page): string | undefined => page.nextCursor ?? page.next_cursor;

/** A list that is read page by page, as far as somebody wants to see. */
export const pagesQuery = <P extends Page>(queryKey: QueryKey, read: (cursor: string | undefined, signal: AbortSignal) => Promise<P>) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: async ({ pageParam, signal }) => await read(pageParam || undefined, signal),
    initialPageParam: "",
    getNextPageParam: nextOf,
  });

/** The items of all pages; no further page is read once there are `most`. */
export const readAll = async <P extends Page, T>(
  read: (cursor: string | undefined) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
  max = Infinity,
): Promise<readonly T[]> => {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    items.push(...itemsOf(page));
    cursor = nextOf(page);
  } while (cursor !== undefined && items.length < max);
  return items;
};
