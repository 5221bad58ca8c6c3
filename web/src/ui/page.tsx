import { useEffect, useRef, type ReactElement, type ReactNode } from "react";
import { words } from "../strings/en.ts";
import { Breadcrumbs, type ParentPage } from "./breadcrumbs.tsx";

/** The page just loaded keeps the browser's own focus; every later screen takes it. */
let isFirst = true;

/** A screen: its heading takes the focus when the person came here from another screen, so that it is read out. */
export const Page = ({
  title,
  status,
  lead,
  actions,
  parent,
  children,
}: {
  readonly title: string;
  /** Chips beside the title. */
  readonly status?: ReactNode;
  readonly lead?: ReactNode;
  readonly parent?: ParentPage | undefined;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}): ReactElement => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = words.common.pageTitle(title);
  }, [title]);
  useEffect(() => {
    if (!isFirst) heading.current?.focus();
    isFirst = false;
  }, []);
  return (
    <>
      <Breadcrumbs name={title} parent={parent} />
      <div className="sp-page-head">
        <div>
          <div className="sp-actions">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {status}
          </div>
          {lead === undefined ? null : <div className="sp-lead">{lead}</div>}
        </div>
        {actions === undefined ? null : <div className="sp-actions">{actions}</div>}
      </div>
      {children}
    </>
  );
};

/** What has just been done on a page, where something has. */
export const DoneNotice = ({ children }: { readonly children: ReactNode }): ReactElement | null =>
  children === undefined ? null : (
    <div className="sp-notice" data-tone="allow" role="status">
      {children}
    </div>
  );
