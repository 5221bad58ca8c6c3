import type { ReactElement, ReactNode } from "react";

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  readonly isNumber?: boolean;
  readonly wraps?: boolean;
}

/** A dense table. The first column's link opens the row; j, k and Enter work on it from anywhere on the page. */
export const Rows = <T,>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}): ReactElement => (
  <div className="sp-table-scroll" tabIndex={0} role="group" aria-label={caption}>
    <table className="sp-table">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.key} scope="col" className={column.isNumber === true ? "sp-number" : undefined}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} data-row="">
            {columns.map((column) => (
              <td key={column.key} className={column.isNumber === true ? "sp-number" : column.wraps === true ? "sp-wrap" : undefined}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
