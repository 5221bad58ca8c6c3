import type { ReactElement, ReactNode } from "react";

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  readonly isNumber?: boolean;
  readonly wraps?: boolean;
}

/** A dense table; on a narrow screen a card a row, which is why its roles are said. The first column's link opens the row; j, k and Enter work on it from anywhere on the page. */
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
    <table className="sp-table" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.key} scope="col" role="columnheader" className={column.isNumber === true ? "sp-number" : undefined}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row" data-row="">
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
