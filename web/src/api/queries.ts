/** Only over what was read with this tag, where one is known. */
export const ifMatch = (etag: string | undefined) => (etag === undefined ? {} : { headers: { "if-match": etag } });

/** Endpoints of different services call it differently. */
export interface Page {
  readonly nextCursor?: string | undefined;
  readonly next_cursor?: string | undefined;
}
export const nextOf = (page: Page): string | undefined => page.nextCursor ?? page.next_cursor;

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
