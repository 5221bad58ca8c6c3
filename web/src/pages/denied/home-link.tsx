import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { words } from "../../strings/en.ts";

export const HomeLink = (): ReactElement => (
  <Link className="sp-link" to="/">
    {words.gate.toHome}
  </Link>
);
