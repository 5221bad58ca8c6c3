import type { ReactElement } from "react";
import { REASON } from "#contract/ids.ts";
import { SYSTEMS } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { DialogWithReason, type ReasonedActProps } from "../../ui/dialog-with-reason.tsx";

const text = systemWords.one;
const { least, max } = REASON;
const asked = { label: text.reasonLabel, hint: text.reasonHint(least, max), issue: text.reasonIssue(least, max), least, max };

/** An act with its reason: as long as the most demanding of the endpoints wants it. */
export const ReasonedDialog = <T,>(props: ReasonedActProps<T>): ReactElement => (
  <DialogWithReason {...props} asked={asked} size="xl" rereads={SYSTEMS} />
);
