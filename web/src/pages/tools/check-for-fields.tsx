import { TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import type { ExplainAsk } from "../../api/tools.ts";
import { idText } from "../../shell/search.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";

/** For whom the doors are asked; empty = for oneself, without an agent. */
export interface CheckFor {
  readonly userId: string;
  readonly agentId: string;
}

export const askOf = (checkFor: CheckFor): Omit<ExplainAsk, "tool"> => ({
  ...(idText.test(checkFor.userId) ? { user_id: checkFor.userId } : {}),
  ...(idText.test(checkFor.agentId) ? { agent_id: checkFor.agentId } : {}),
});

/** Who may explain to others can ask the doors for any person and agent. */
export const CheckForFields = ({
  value,
  onChange,
}: {
  readonly value: CheckFor;
  readonly onChange: (value: CheckFor) => void;
}): ReactElement => (
  <div className="sp-filters" role="group" aria-label={toolWords.checkFor}>
    <TextInput
      label={toolWords.checkPerson}
      placeholder={toolWords.checkPersonExample}
      value={value.userId}
      onChange={(event) => onChange({ ...value, userId: event.currentTarget.value.trim() })}
    />
    <TextInput
      label={toolWords.checkAgent}
      placeholder={words.delegations.agentPlaceholder}
      value={value.agentId}
      onChange={(event) => onChange({ ...value, agentId: event.currentTarget.value.trim() })}
    />
  </div>
);
