import { NativeSelect } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { useGiveTool } from "../../api/give-tool.ts";
import { agentSuggestions, holderSuggestions } from "../../api/nodes.ts";
import { useSession } from "../../session/session-context.ts";
import { standingWords } from "../../strings/tool-standing.ts";
import { toolWords } from "../../strings/tools.ts";
import { SuggestInput } from "../../ui/suggest-input.tsx";
import { ReasonedDialog } from "./reasoned-dialog.tsx";

const text = standingWords;

/** Lets somebody call a tool, or makes it one that an agent can be delegated. */
export const GrantDialog = ({
  tool,
  digest,
  onDone,
  onClose,
}: {
  readonly tool: string;
  /** Of its definition now, which an agent is given it for. */
  readonly digest: string;
  readonly onDone: (to: string) => void;
  readonly onClose: () => void;
}): ReactElement => {
  const client = useClient();
  const giveTool = useGiveTool();
  const { id: me } = useSession().subject;
  const [kind, setKind] = useState<"person" | "agent">("person");
  const [to, setTo] = useState("");
  return (
    <ReasonedDialog
      title={text.grantTitle(tool)}
      sentence={kind === "person" ? toolWords.steps.giveSentence.grant : toolWords.steps.giveSentence.capability}
      verb={kind === "person" ? toolWords.steps.ways.grant : toolWords.steps.ways.capability}
      isReady={to.trim() !== ""}
      act={async (reason) =>
        await giveTool({ kind: kind === "person" ? "GRANTS_ACCESS" : "HAS_CAPABILITY", to: to.trim(), tool, by: me, reason, digest })
      }
      onDone={() => onDone(to.trim())}
      onClose={onClose}
    >
      <NativeSelect
        label={text.grantTo}
        value={kind}
        data={[
          { value: "person", label: text.grantKinds.person },
          { value: "agent", label: text.grantKinds.agent },
        ]}
        onChange={(event) => {
          setKind(event.currentTarget.value === "agent" ? "agent" : "person");
          setTo("");
        }}
      />
      <SuggestInput
        key={kind}
        label={text.grantId}
        value={to}
        suggest={(part) => (kind === "agent" ? agentSuggestions(client, part) : holderSuggestions(client, part))}
        onChange={setTo}
      />
    </ReasonedDialog>
  );
};
