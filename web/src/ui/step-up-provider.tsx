import { lazyRouteComponent } from "@tanstack/react-router";
import { createContext, useCallback, useContext, useState, type ReactElement, type ReactNode } from "react";
import type { StepUp } from "../session/step-up.ts";
import { Late } from "./late.tsx";

const StepUpDialog = lazyRouteComponent(async () => await import("./step-up-dialog.tsx"), "StepUpDialog");

const StepUpContext = createContext<(stepUp: StepUp) => void>(() => undefined);

/** Opens the dialog that leads to the stronger sign-in and back. */
export const useStepUp = (): ((stepUp: StepUp) => void) => useContext(StepUpContext);

export const StepUpProvider = ({ children }: { readonly children: ReactNode }): ReactElement => {
  const [asked, setAsked] = useState<StepUp>();
  const open = useCallback((stepUp: StepUp) => setAsked(stepUp), []);
  return (
    <StepUpContext value={open}>
      {children}
      {asked === undefined ? null : (
        <Late>
          <StepUpDialog asked={asked} onClose={() => setAsked(undefined)} />
        </Late>
      )}
    </StepUpContext>
  );
};
