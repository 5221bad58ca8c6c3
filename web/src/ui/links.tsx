import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { visibleText } from "../strings/format.ts";

/** A decision by its id, unless something else is to be read there. */
export const DecisionLink = ({ id, children }: { readonly id: string; readonly children?: ReactNode }): ReactElement => (
  <Link className={children === undefined ? "sp-link sp-mono" : "sp-link"} to="/why/$decisionId" params={{ decisionId: id }}>
    {children ?? id}
  </Link>
);

export const ToolLink = ({ name }: { readonly name: string }): ReactElement => (
  <Link className="sp-link sp-mono" to="/tools/$name" params={{ name }}>
    {visibleText(name)}
  </Link>
);

export const DelegationLink = ({ id }: { readonly id: string }): ReactElement => (
  <Link className="sp-link sp-mono" to="/delegations/$id" params={{ id }}>
    {visibleText(id)}
  </Link>
);
