import { Button } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { approveSystemDefinitions, type DefinitionRow, type listDefinitions } from "#contract/definitions.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { definitionWords } from "../../strings/definitions.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { NameList } from "../systems/effects-view.tsx";
import { ReasonedDialog } from "../tools/reasoned-dialog.tsx";

const text = definitionWords;

/** Systems of which some definitions wait, and one act that approves all of a system's. */
type WaitingSystem = ReplyOf<typeof listDefinitions>["waiting"][number];

export const WaitingSystems = ({
  waiting,
  definitions,
  onDone,
}: {
  readonly waiting: readonly WaitingSystem[];
  /** As they are listed. */
  readonly definitions: readonly DefinitionRow[];
  readonly onDone: (said: string) => void;
}): ReactElement | null => {
  const approve = useEndpoint(approveSystemDefinitions);
  const [open, setOpen] = useState<WaitingSystem>();
  if (waiting.length === 0) return null;
  const named = definitions
    .filter(({ system, state }) => system === open?.system && (state === "proposed" || state === "drifted"))
    .map(({ tool }) => tool);
  return (
    <>
      <ul className="sp-list" aria-label={text.waiting}>
        {waiting.map((one) => (
          <li key={one.system} className="sp-list-row">
            <span>
              <Foreign text={one.system} isCode /> {text.waitingOf(one.definitions)}
            </span>
            <Button variant="default" size="compact-xs" aria-label={text.approveAllOf(one.system)} onClick={() => setOpen(one)}>
              {text.approveAll}
            </Button>
          </li>
        ))}
      </ul>
      {open === undefined ? null : (
        <ReasonedDialog
          title={text.approveAllTitle(open.definitions, open.system)}
          sentence={text.approveAllSentence}
          verb={text.approveAll}
          // Refused where others wait than those that were looked at.
          act={async (reason) => await approve.ask({ params: { name: open.system }, body: { digest: open.digest, reason } })}
          onDone={({ approved, warnings }) => {
            setOpen(undefined);
            onDone([text.approvedAll(approved.length, open.system), ...warnings].join(" "));
          }}
          onClose={() => setOpen(undefined)}
        >
          <NameList title={text.approveAllNames} names={named} />
        </ReasonedDialog>
      )}
    </>
  );
};
