import { useEffect, useRef, type ReactElement, type ReactNode } from "react";
import { words } from "../strings/en.ts";

/** The page just loaded keeps the browser's own focus; every later screen takes it. */
let isFirst = true;

/** A screen: its heading takes the focus when the person came here from another screen, so that it is read out. */
export const Page = ({
  title,
  lead,
  actions,
  children,
}: {
  readonly title: string;
  readonly lead?: ReactNode;
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
      <div className="sp-page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead === undefined ? null : <p className="sp-lead">{lead}</p>}
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
