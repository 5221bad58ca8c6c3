import type { ReactElement } from "react";
import { visibleText } from "../strings/format.ts";

/** Text that somebody else wrote: shown as text, with hidden characters made visible. */
export const Foreign = ({ text, isCode = false }: { readonly text: string; readonly isCode?: boolean }): ReactElement => (
  <bdi className={isCode ? "sp-mono" : undefined}>{visibleText(text)}</bdi>
);
