import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { approveDefinition, readDefinition, rejectDefinition } from "#contract/definitions.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { visibleText } from "../../strings/format.ts";
import { definitionWords } from "../../strings/definitions.ts";
import { DiffView } from "../../ui/diff-view.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ChangeList } from "../systems/effects-view.tsx";
import { ReasonedDialog } from "../tools/reasoned-dialog.tsx";

const text = definitionWords;
const written = (definition: unknown): string => (definition === null ? "" : JSON.stringify(definition, null, 2));

const Definition = ({
  read,
  onDone,
}: {
  readonly read: ReplyOf<typeof readDefinition>;
  readonly onDone: (said: string) => void;
}): ReactElement => {
  const approve = useEndpoint(approveDefinition);
  const reject = useEndpoint(rejectDefinition);
  const [act, setAct] = useState<"approve" | "reject">();
  const { tool, approved, served, diff, approved_digest: before, served_digest: digest, state } = read;
  return (
    <div className="sp-stack">
      <FactList>
        <TextFact name={text.system} text={read.system} isCode />
        <TextFact name={text.approvedDigest} text={before ?? undefined} isCode />
        <Fact name={text.servedDigest}>{digest === null ? text.notServed : <Foreign text={digest} isCode />}</Fact>
      </FactList>
      {diff.length === 0 ? null : (
        <section aria-label={text.differs}>
          <h3>{text.differs}</h3>
          <ChangeList changes={diff} />
        </section>
      )}
      {served === null ? null : (
        <section>
          <h3>{before === null ? text.served : text.servedBeside}</h3>
          {before === null ? (
            <pre className="sp-code" tabIndex={0} role="group" aria-label={text.served}>
              {visibleText(written(served))}
            </pre>
          ) : (
            <DiffView label={text.servedBeside} before={written(approved)} after={written(served)} />
          )}
        </section>
      )}
      <div className="sp-actions">
        {digest === null || (state === "approved" && before === digest) ? null : (
          <Button onClick={() => setAct("approve")}>{text.approve}</Button>
        )}
        {state === "rejected" ? null : (
          <Button variant="default" className="sp-dangerous" onClick={() => setAct("reject")}>
            {text.reject}
          </Button>
        )}
      </div>
      {act === undefined ? null : (
        <ReasonedDialog
          title={act === "approve" ? text.approveTitle(tool) : text.rejectTitle(tool)}
          sentence={act === "approve" ? text.approveSentence : text.rejectSentence}
          verb={act === "approve" ? text.approve : text.reject}
          isDangerous={act === "reject"}
          // Refused where another is served by now.
          act={async (reason) =>
            act === "approve" && digest !== null
              ? await approve.ask({ params: { tool }, body: { digest, reason } })
              : await reject.ask({ params: { tool }, body: { reason } })
          }
          onDone={({ warnings }) => {
            setAct(undefined);
            onDone([act === "approve" ? text.approved(tool) : text.rejected(tool), ...warnings].join(" "));
          }}
          onClose={() => setAct(undefined)}
        />
      )}
    </div>
  );
};

/** One definition: as it was approved, as it is served, what differs, and the answer to it. */
export const DefinitionPanel = ({ tool, onDone }: { readonly tool: string; readonly onDone: (said: string) => void }): ReactElement => (
  <Panel title={text.lookAt(tool)}>
    <QueryView query={useQuery(useEndpoint(readDefinition).query({ params: { tool } }))} service="crud">
      {(read) => <Definition read={read} onDone={onDone} />}
    </QueryView>
  </Panel>
);
