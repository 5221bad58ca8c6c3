import type { ReactElement, ReactNode } from "react";
import { formatMoment } from "../strings/format.ts";
import { Icon } from "./icon.tsx";

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  readonly isNumber?: boolean;
  readonly wraps?: boolean;
  /** What the server calls sorting by this column. */
  readonly sort?: string;
}

export interface Sorting {
  readonly by: string;
  readonly order: "asc" | "desc";
  /** A column was pressed: by another one than now, or the other way round. */
  readonly onSort: (by: string) => void;
}

const Title = <T,>({ column, sorting }: { readonly column: Column<T>; readonly sorting: Sorting | undefined }): ReactElement => {
  const { sort, title } = column;
  if (sort === undefined || sorting === undefined) return <>{title}</>;
  return (
    <button
      type="button"
      className="sp-sort"
      data-sorted={sorting.by === sort ? sorting.order : undefined}
      onClick={() => sorting.onSort(sort)}
    >
      {title}
      <Icon name={sorting.by !== sort ? "sort" : sorting.order === "asc" ? "up" : "down"} size={12} />
    </button>
  );
};

const ariaSort = <T,>({ sort }: Column<T>, sorting: Sorting | undefined): "ascending" | "descending" | "none" | undefined => {
  if (sort === undefined || sorting === undefined) return undefined;
  if (sorting.by !== sort) return "none";
  return sorting.order === "asc" ? "ascending" : "descending";
};

/** A dense table; on a narrow screen a card a row, which is why its roles are said. The first column's link opens the row; j, k and Enter work on it from anywhere on the page. */
export const Rows = <T,>({
  caption,
  columns,
  rows,
  keyOf,
  isChosen,
  sorting,
}: {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The row that is shown beside the table. */
  readonly isChosen?: ((row: T) => boolean) | undefined;
  readonly sorting?: Sorting | undefined;
}): ReactElement => (
  <div className="sp-table-scroll" tabIndex={0} role="group" aria-label={caption}>
    <table className="sp-table" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th
              key={column.key}
              scope="col"
              role="columnheader"
              aria-sort={ariaSort(column, sorting)}
              className={column.isNumber === true ? "sp-number" : undefined}
            >
              <Title column={column} sorting={sorting} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row" data-row="" data-chosen={isChosen?.(row) === true ? "" : undefined}>
            {columns.map((column) => (
              <td
                key={column.key}
                role="cell"
                data-title={column.title}
                className={column.isNumber === true ? "sp-number" : column.wraps === true ? "sp-wrap" : undefined}
              >
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** A moment in a cell: on one line. */
export const Moment = ({ at }: { readonly at: string }): ReactElement => (
  <time className="sp-nowrap" dateTime={at}>
    {formatMoment(at)}
  </time>
);
