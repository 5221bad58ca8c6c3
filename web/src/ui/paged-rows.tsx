import { Button } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { words } from "../strings/en.ts";
import { QueryView } from "./query-view.tsx";
import { Rows, type Column, type Sorting } from "./rows.tsx";

/** A table that is read page by page: all that came so far, and a button for more where there is more. */
export const PagedRows = <P, T>({
  query,
  service,
  waiting,
  rowsOf,
  empty,
  further,
  onMore = () => void query.fetchNextPage(),
  ...table
}: {
  readonly query: UseInfiniteQueryResult<InfiniteData<P>>;
  readonly service: string;
  /** Lines shown until the first page is there. */
  readonly waiting: number;
  readonly rowsOf: (page: P) => readonly T[];
  readonly empty: ReactElement;
  /** Said of the last page: that there may be more behind it, and what the button for more does then. */
  readonly further?: (page: P) => { readonly text: string; readonly button: string } | undefined;
  /** In place of reading the next page. */
  readonly onMore?: (() => void) | undefined;
  readonly sorting?: Sorting;
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  readonly isChosen?: (row: T) => boolean;
}): ReactElement => (
  <QueryView query={query} service={service} rows={waiting}>
    {({ pages }) => {
      const rows = pages.flatMap(rowsOf);
      const last = pages.at(-1);
      const more = last === undefined ? undefined : further?.(last);
      if (rows.length === 0 && more === undefined) return empty;
      return (
        <div className="sp-stack">
          {rows.length === 0 ? null : <Rows {...table} rows={rows} />}
          {more === undefined ? null : (
            <p className="sp-dim" role="status">
              {more.text}
            </p>
          )}
          {query.hasNextPage ? (
            <div>
              <Button variant="default" loading={query.isFetchingNextPage} onClick={onMore}>
                {more?.button ?? words.common.more}
              </Button>
            </div>
          ) : null}
        </div>
      );
    }}
  </QueryView>
);
