import { Button, Modal } from "@mantine/core";
import type { ReactElement } from "react";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import { visibleText } from "../../strings/format.ts";
import { ActButton } from "../../ui/act-button.tsx";

/** A call that may change something is shown once more before it is made. */
export const ConfirmCall = ({
  name,
  args,
  onCall,
  onClose,
}: {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly onCall: () => void;
  readonly onClose: () => void;
}): ReactElement => (
  <Modal opened onClose={onClose} title={toolWords.confirmTitle}>
    <div className="sp-stack">
      <p>{toolWords.confirmSentence(visibleText(name))}</p>
      <pre className="sp-code" tabIndex={0}>
        {visibleText(JSON.stringify(args, undefined, 2))}
      </pre>
      <div className="sp-actions">
        <ActButton isBusy={false} onClick={onCall}>
          {toolWords.confirmGo}
        </ActButton>
        <Button variant="default" onClick={onClose}>
          {words.common.cancel}
        </Button>
      </div>
    </div>
  </Modal>
);
