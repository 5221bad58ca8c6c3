import type { ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { agentSuggestions, personSuggestions } from "../../api/nodes.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import type { CheckFor } from "./check-for.ts";
import { SuggestInput } from "../../ui/suggest-input.tsx";

/** Who may explain to others can ask the checks for any person and agent. */
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
        placeholder={words.common.nameOrId}
        value={value.userId}
        suggest={(text) => personSuggestions(client, text)}
        onChange={(userId) => onChange({ ...value, userId })}
      />
      <SuggestInput
        label={toolWords.checkAgent}
        placeholder={words.common.nameOrId}
        value={value.agentId}
        suggest={(text) => agentSuggestions(client, text)}
        onChange={(agentId) => onChange({ ...value, agentId })}
      />
    </div>
  );
};
