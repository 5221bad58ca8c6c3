import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { Verdict } from "./chip.tsx";

/** Status of a delegation, with a second chip where its limits are used up. */
export const StatusChip = ({ delegation }: { readonly delegation: Pick<Delegation, "status" | "exhausted"> }): ReactElement => (
  <span className="sp-actions">
    <Verdict of={delegation.status} />
    {delegation.exhausted ? <Verdict of="exhausted" /> : null}
  </span>
);
