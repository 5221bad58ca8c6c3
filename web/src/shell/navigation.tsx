import { Link } from "@tanstack/react-router";
import { use, type ReactElement } from "react";
import { screenGroups } from "#contract/screens.ts";
import { MAX_WAITING } from "#contract/waiting.ts";
import { words } from "../strings/en.ts";
import { Icon } from "../ui/icon.tsx";
import type { Screen } from "./screens.ts";
import { WaitingCounts } from "./waiting-counts.ts";

const Group = ({ screens }: { readonly screens: readonly Screen[] }): ReactElement => {
  const counts = use(WaitingCounts);
  return (
    <ul>
      {screens.map(({ id, path, icon, label }) => {
        const count = counts[id] ?? 0;
        return (
          <li key={id}>
            <Link to={path} activeOptions={{ exact: path === "/", includeSearch: false }} activeProps={{ "aria-current": "page" }}>
              <Icon name={icon} />
              {label}
              {count === 0 ? null : (
                <span className="sp-count" role="img" aria-label={words.shell.waiting(count)}>
                  {count < MAX_WAITING ? count : `${MAX_WAITING - 1}+`}
                </span>
              )}
            </Link>
          </li>
        );
      })}
    </ul>
  );
};

/** The screens that may be shown, by group. A group without any is not there. */
export const Navigation = ({ screens }: { readonly screens: readonly Screen[] }): ReactElement => (
  <nav className="sp-screens" aria-label={words.shell.navigation}>
    <Group screens={screens.filter(({ group }) => group === undefined)} />
    {screenGroups.map((name) => {
      const grouped = screens.filter(({ group }) => group === name);
      return grouped.length === 0 ? null : (
        <div key={name} role="group" aria-label={name}>
          <p aria-hidden="true">{name}</p>
          <Group screens={grouped} />
        </div>
      );
    })}
  </nav>
);
