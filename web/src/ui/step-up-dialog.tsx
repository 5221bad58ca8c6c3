import { Button, Modal } from "@mantine/core";
import type { ReactElement } from "react";
import { words } from "../strings/en.ts";
import { Icon } from "./icon.tsx";
import { signInPath, type StepUp } from "../session/step-up.ts";

export const StepUpDialog = ({ asked, onClose }: { readonly asked: StepUp; readonly onClose: () => void }): ReactElement => (
  <Modal opened onClose={onClose} title={words.stepUp.title}>
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
        <Button variant="default" onClick={onClose}>
          {words.common.cancel}
        </Button>
      </div>
    </div>
  </Modal>
);
