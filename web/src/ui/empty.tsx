import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { words } from "../strings/en.ts";

/** Nothing there: why, and the one next step. */
export const Empty = ({
  text,
  onClear,
  children,
}: {
  readonly text: string;
  readonly onClear?: () => void;
  readonly children?: ReactNode;
}): ReactElement => (
  <div className="sp-state">
    <p className="sp-dim">{text}</p>
    {onClear === undefined ? null : (
      <Button variant="default" onClick={onClear}>
        {words.common.clearFilters}
      </Button>
    )}
    {children}
  </div>
);
