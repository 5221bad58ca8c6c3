import { Button, Modal } from "@mantine/core";
import { createContext, useCallback, useContext, useState, type ReactElement, type ReactNode } from "react";
import { words } from "../strings/en.ts";
import { Icon } from "../ui/icon.tsx";
import { signInPath, type StepUp } from "./step-up.ts";

const StepUpContext = createContext<(stepUp: StepUp) => void>(() => undefined);

/** Opens the dialog that leads to the stronger sign-in and back. */
export const useStepUp = (): ((stepUp: StepUp) => void) => useContext(StepUpContext);

export const StepUpProvider = ({ children }: { readonly children: ReactNode }): ReactElement => {
  const [asked, setAsked] = useState<StepUp>();
  const open = useCallback((stepUp: StepUp) => setAsked(stepUp), []);
  const close = (): void => setAsked(undefined);
  return (
    <StepUpContext value={open}>
      {children}
      <Modal
        opened={asked !== undefined}
        onClose={close}
        title={words.stepUp.title}
        closeButtonProps={{ "aria-label": words.common.close }}
      >
        <div className="sp-stack">
          <p>{words.stepUp.sentence}</p>
          <p>{words.stepUp.after}</p>
          <div className="sp-actions">
            <Button
              data-autofocus
              leftSection={<Icon name="key" />}
              onClick={() => location.assign(signInPath(location.pathname + location.search, asked))}
            >
              {words.stepUp.go}
            </Button>
            <Button variant="default" onClick={close}>
              {words.common.cancel}
            </Button>
          </div>
        </div>
      </Modal>
    </StepUpContext>
  );
};
