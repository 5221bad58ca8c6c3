import { ActionIcon, Menu, Tabs } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { words } from "../strings/en.ts";
import type { ParentPage } from "./breadcrumbs.tsx";
import { CopyIcon, copyText } from "./copy-button.tsx";
import { Foreign } from "./foreign.tsx";
import { Icon } from "./icon.tsx";
import { Page } from "./page.tsx";

/** A view of the object. Its content is drawn only while it is chosen. */
export interface DetailTab {
  readonly id: string;
  readonly name: string;
  readonly content: ReactElement;
}

interface DetailPageProps {
  readonly title: string;
  readonly parent?: ParentPage | undefined;
  readonly status?: ReactNode;
  readonly id: string;
  /** One line of context. */
  readonly line?: ReactNode;
  /** Danger, secondary, primary. */
  readonly acts?: ReactNode;
  /** What needs an act, or what has just been done. */
  readonly note?: ReactNode;
  /** The first answers how it is now. One alone is shown without a tab. */
  readonly tabs: readonly DetailTab[];
  /** The chosen tab; the first where it names none of them. */
  readonly tab: string | undefined;
  readonly onTab: (id: string) => void;
  /** Facts beside the first tab; the others have the whole width. */
  readonly aside?: ReactNode;
}

/** One object: breadcrumb, name and status, id and one line, acts, tabs, and its facts aside. */
export const DetailPage = ({ tabs, aside, ...props }: DetailPageProps): ReactElement => {
  const chosen = tabs.find(({ id }) => id === props.tab) ?? tabs[0];
  const hasAside = aside !== undefined && chosen === tabs[0];
  const more = (
    <Menu position="bottom-end" withinPortal={false}>
      <Menu.Target>
        <ActionIcon variant="default" size={30} aria-label={words.common.moreActs}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="copy" />} onClick={() => void copyText(location.href)}>
          {words.common.copyLink}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
  return (
    <Page
      title={props.title}
      parent={props.parent}
      status={props.status}
      lead={
        <span className="sp-actions">
          <Foreign text={props.id} isCode />
          <CopyIcon label={words.common.copyId} text={props.id} />
          {props.line}
        </span>
      }
      actions={
        <>
          {props.acts}
          {more}
        </>
      }
    >
      <div className="sp-stack">
        {tabs.length < 2 ? null : (
          <Tabs value={chosen?.id ?? null} onChange={(id) => props.onTab(id ?? "")}>
            <Tabs.List>
              {tabs.map(({ id, name }) => (
                <Tabs.Tab key={id} value={id}>
                  {name}
                </Tabs.Tab>
              ))}
            </Tabs.List>
          </Tabs>
        )}
        {props.note}
        <div className={hasAside ? "sp-split" : undefined}>
          <div className="sp-stack">{chosen?.content}</div>
          {hasAside ? <aside className="sp-stack">{aside}</aside> : null}
        </div>
      </div>
    </Page>
  );
};
