import { Textarea } from "@mantine/core";
import type { ReactElement } from "react";
import { words } from "../strings/en.ts";

/** Why something is stopped: goes into the record. */
export const ReasonField = ({
  value,
  hasFault,
  onChange,
}: {
  readonly value: string;
  readonly hasFault: boolean;
  readonly onChange: (text: string) => void;
}): ReactElement => (
  <Textarea
    data-autofocus
    label={words.delegations.reasonLabel}
    description={words.delegations.reasonHint}
    required
    rows={2}
    maxLength={200}
    value={value}
    error={hasFault ? words.delegations.reasonFault : undefined}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
