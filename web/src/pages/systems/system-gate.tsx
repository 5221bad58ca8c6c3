import type { ReactElement, ReactNode } from "react";
import type { ReadSystem } from "../../api/systems.ts";
import { Gate } from "../../decisions/use-can.ts";
import { isShared } from "./is-shared.ts";

/** Shows its children to who may do this to the system: one that serves several tenants is changed by who runs the deployment. */
export const SystemGate = ({
  system,
  action,
  children,
}: {
  readonly system: ReadSystem | undefined;
  readonly action: "edit" | "delete";
  readonly children: ReactNode;
}): ReactElement => (
  <Gate ask={{ type: "system", action }}>
    {system === undefined || !isShared(system.document) ? (
      children
    ) : (
      <Gate ask={{ type: "deployment", action: "edit_systems" }}>{children}</Gate>
    )}
  </Gate>
);
