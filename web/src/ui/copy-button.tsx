import { ActionIcon, Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import type { ReactElement } from "react";
import { words } from "../strings/en.ts";
import { Icon } from "./icon.tsx";

/** Copies text and says so; the clipboard may be refused, and then that is said. */
export const copyText = async (text: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text);
    notifications.show({ message: words.common.copied, autoClose: 2_000, withCloseButton: false });
  } catch {
    notifications.show({ message: words.common.copyFailed, color: "red", autoClose: 8_000 });
  }
};

export const CopyButton = ({ label, text }: { readonly label: string; readonly text: () => string }): ReactElement => (
  <Button variant="default" leftSection={<Icon name="copy" size={14} />} onClick={() => void copyText(text())}>
    {label}
  </Button>
);

/** The same beside an id, as an icon alone. */
export const CopyIcon = ({ label, text }: { readonly label: string; readonly text: string }): ReactElement => (
  <ActionIcon variant="subtle" color="gray" size="xs" aria-label={label} title={label} onClick={() => void copyText(text)}>
    <Icon name="copy" size={14} />
  </ActionIcon>
);
