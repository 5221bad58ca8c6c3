import type { ReactElement } from "react";
import type { ConfigWritten } from "#contract/configs.ts";
import { systemWords } from "../../strings/systems.ts";
import { EffectsView } from "./effects-view.tsx";
import { ReasonedDialog } from "../tools/reasoned-dialog.tsx";
import type { Tried } from "./try-report.tsx";

const text = systemWords.one;

/** Publishes a text that was tried: what it changes is shown, a reason is asked for. */
export const PublishDialog = ({
  tried,
  publish,
  onDone,
  onClose,
}: {
  readonly tried: Tried;
  readonly publish: (document: string, reason: string) => Promise<ConfigWritten>;
  readonly onDone: (written: ConfigWritten) => void;
  readonly onClose: () => void;
}): ReactElement => (
  <ReasonedDialog
    title={text.publishTitle}
    sentence={text.publishSentence}
    verb={text.publish}
    act={async (reason) => await publish(tried.text, reason)}
    onDone={onDone}
    onClose={onClose}
  >
    <EffectsView written={tried.written} />
  </ReasonedDialog>
);
