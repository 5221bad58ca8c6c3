import { Button, type ButtonProps } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { words } from "../strings/en.ts";
import { useDelayed } from "./timers.ts";
import { useIsOnline } from "./use-online.ts";

/** A button that acts: progress after a tenth of a second, switched off with the reason while there is no network. */
export const ActButton = ({
  isBusy,
  onClick,
  type = "button",
  children,
  ...rest
}: ButtonProps & {
  readonly isBusy: boolean;
  readonly onClick?: () => void;
  readonly type?: "button" | "submit";
  readonly children: ReactNode;
}): ReactElement => {
  const isOnline = useIsOnline();
  const showsProgress = useDelayed(isBusy, 100);
  return (
    <Button
      {...rest}
      type={type}
      loading={showsProgress}
      disabled={!isOnline || rest.disabled === true}
      aria-disabled={isBusy}
      title={isOnline ? undefined : words.shell.offline}
      onClick={onClick && (() => (isBusy ? undefined : onClick()))}
    >
      {children}
    </Button>
  );
};
