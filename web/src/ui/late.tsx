import { Suspense, type ReactElement, type ReactNode } from "react";
import { Boundary } from "./panel.tsx";

/** A part whose code comes when it is needed: while it comes there is nothing, and if it cannot come the rest of the page stands. */
export const Late = ({ children }: { readonly children: ReactNode }): ReactElement => (
  <Boundary>
    <Suspense>{children}</Suspense>
  </Boundary>
);
