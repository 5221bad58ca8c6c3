import { Menu, useMantineColorScheme, VisuallyHidden } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import type { ReactElement } from "react";
import { useClient } from "../api/client-context.ts";
import { useSession } from "../session/session-context.ts";
import { signOut } from "./sign-out.ts";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { Icon, type IconName } from "../ui/icon.tsx";

const themes: readonly { readonly scheme: "light" | "dark" | "auto"; readonly label: string; readonly icon: IconName }[] = [
  { scheme: "light", label: words.shell.light, icon: "sun" },
  { scheme: "dark", label: words.shell.dark, icon: "moon" },
  { scheme: "auto", label: words.shell.system, icon: "screen" },
];

/** First letters of the first and last word. */
const initialsOf = (name: string): string => {
  const initials = name.trim().match(/(?<!\S)\S/gu) ?? [];
  return (initials.length > 1 ? `${initials[0] ?? ""}${initials.at(-1) ?? ""}` : (initials[0] ?? "")).toUpperCase();
};

/** Who is signed in, the theme, and the two ways out. */
export const AccountMenu = (): ReactElement => {
  const { subject, tenant } = useSession();
  const client = useClient();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const leave = (everywhere: boolean): void => {
    signOut(client, everywhere).catch(() => notifications.show({ message: words.shell.signOutFailed, color: "red" }));
  };
  return (
    <Menu position="bottom-end" width={230} withInitialFocusPlaceholder={false} withinPortal={false}>
      <Menu.Target>
        <button type="button" className="sp-avatar">
          <span aria-hidden="true">{initialsOf(visibleText(subject.name))}</span>
          <VisuallyHidden>{words.shell.account(visibleText(subject.name))}</VisuallyHidden>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {visibleText(subject.name)}
          <br />
          <span className="sp-mono">{subject.id}</span>
          <br />
          <span className="sp-mono">{tenant}</span>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Label>{words.shell.theme}</Menu.Label>
        <Menu.RadioGroup
          value={colorScheme}
          onChange={(scheme) => setColorScheme(themes.find((row) => row.scheme === scheme)?.scheme ?? "auto")}
        >
          {themes.map((row) => (
            <Menu.RadioItem key={row.scheme} value={row.scheme} rightSection={<Icon name={row.icon} />}>
              {row.label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="exit" />} onClick={() => leave(false)}>
          {words.shell.signOut}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="exit" />} onClick={() => leave(true)}>
          {words.shell.signOutEverywhere}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
};
