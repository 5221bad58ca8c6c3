import type { ReactElement, ReactNode } from "react";
import { Page } from "./page.tsx";

/** A list: title and primary act, filter bar, table, foot with counts. */
export const ListPage = ({
  title,
  line,
  acts,
  filters,
  foot,
  children,
}: {
  readonly title: string;
  readonly line?: ReactNode;
  readonly acts?: ReactNode;
  readonly filters?: ReactNode;
  readonly foot?: ReactNode;
  /** The table, or why there is none. */
  readonly children: ReactNode;
}): ReactElement => (
  <Page title={title} lead={line} actions={acts}>
    <div className="sp-stack">
      {filters}
      <div className="sp-list-table">
        {children}
        {foot === undefined ? null : (
          <p className="sp-list-foot" role="status">
            {foot}
          </p>
        )}
      </div>
    </div>
  </Page>
);
