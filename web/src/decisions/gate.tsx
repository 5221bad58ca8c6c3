import type { ReactElement, ReactNode } from "react";
import type { Ask } from "./ask.ts";
import { useCan } from "./use-can.ts";

/** Shows its children only while they are allowed; they are not in the document otherwise. */
export const Gate = ({ ask, children }: { readonly ask: Ask; readonly children: ReactNode }): ReactElement | null =>
  useCan(ask) === "allowed" ? <>{children}</> : null;
