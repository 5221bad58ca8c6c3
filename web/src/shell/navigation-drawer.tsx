import { Drawer } from "@mantine/core";
import type { ReactElement } from "react";
import { words } from "../strings/en.ts";
import { Navigation } from "./navigation.tsx";
import type { Screen } from "./screens.ts";

/** The navigation on a narrow screen. */
export const NavigationDrawer = ({
  screens,
  onClose,
}: {
  readonly screens: readonly Screen[];
  readonly onClose: () => void;
}): ReactElement => (
  <Drawer opened onClose={onClose} size="xs" title={words.product} closeButtonProps={{ "aria-label": words.common.close }}>
    <Navigation screens={screens} />
  </Drawer>
);
