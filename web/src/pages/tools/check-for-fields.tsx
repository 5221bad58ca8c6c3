import type { ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { agentSuggestions, personSuggestions } from "../../api/nodes.ts";
import type { ExplainAsk } from "../../api/tools.ts";
import { idText } from "../../shell/search.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import { SuggestInput } from "../../ui/suggest-input.tsx";

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
}): ReactElement => {
  const client = useClient();
  return (
    <div className="sp-filters" role="group" aria-label={toolWords.checkFor}>
      <SuggestInput
        label={toolWords.checkPerson}
        placeholder={words.delegations.agentPlaceholder}
        value={value.userId}
        suggest={(text) => personSuggestions(client, text)}
        onChange={(userId) => onChange({ ...value, userId })}
      />
      <SuggestInput
        label={toolWords.checkAgent}
        placeholder={words.delegations.agentPlaceholder}
        value={value.agentId}
        suggest={(text) => agentSuggestions(client, text)}
        onChange={(agentId) => onChange({ ...value, agentId })}
      />
    </div>
  );
};
