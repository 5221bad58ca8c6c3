import { Button } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { words } from "../strings/en.ts";
import { QueryView } from "./query-view.tsx";
import { Rows, type Column } from "./rows.tsx";

/** A table that is read page by page: all that came so far, and a button for more where there is more. */
export const PagedRows = <P, T>({
  query,
  service,
  waiting,
  rowsOf,
  empty,
  ...table
}: {
  readonly query: UseInfiniteQueryResult<InfiniteData<P>>;
  readonly service: string;
  /** Lines shown until the first page is there. */
  readonly waiting: number;
  readonly rowsOf: (page: P) => readonly T[];
  readonly empty: ReactElement;
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
}): ReactElement => (
  <QueryView query={query} service={service} rows={waiting}>
    {({ pages }) => {
      const rows = pages.flatMap(rowsOf);
      if (rows.length === 0) return empty;
      return (
        <div className="sp-stack">
          <Rows {...table} rows={rows} />
          {query.hasNextPage ? (
            <div>
              <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                {words.common.more}
              </Button>
            </div>
          ) : null}
        </div>
      );
    }}
  </QueryView>
);
