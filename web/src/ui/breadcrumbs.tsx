import { Link, useLocation, type LinkProps } from "@tanstack/react-router";
import { createContext, use, type ReactElement } from "react";
import { createPortal } from "react-dom";
import { screens } from "#contract/screens.ts";
import { words } from "../strings/en.ts";

/** Where the top bar shows the breadcrumbs of a page; null before it is drawn. */
export const BreadcrumbSlot = createContext<HTMLElement | null>(null);

/** A page between the list and this one. */
export interface ParentPage {
  readonly name: string;
  readonly link: Pick<LinkProps, "to" | "params">;
}

/** List / parent / name, from the second level on. */
export const Breadcrumbs = ({ name, parent }: { readonly name: string; readonly parent: ParentPage | undefined }): ReactElement | null => {
  const slot = use(BreadcrumbSlot);
  const path = useLocation({ select: ({ pathname }) => pathname });
  const list = Object.values(screens).find((screen) => screen.path === `/${path.split("/")[1] ?? ""}`);
  if (slot === null) return null;
  const isBelow = list !== undefined && list.path !== path;
  return createPortal(
    <nav aria-label={words.shell.breadcrumbs} className={isBelow ? undefined : "sp-narrow-title"}>
      <ol>
        {isBelow ? (
          <li>
            <Link to={list.path}>{list.label}</Link>
          </li>
        ) : null}
        {parent === undefined ? null : (
          <li>
            <Link {...parent.link}>{parent.name}</Link>
          </li>
        )}
        <li aria-current="page">{name}</li>
      </ol>
    </nav>,
    slot,
  );
};
