import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { policyVersion } from "#contract/policies.ts";
import { replayDecision } from "#contract/replay.ts";
import { useClient } from "../../api/client-context.ts";
import { words } from "../../strings/en.ts";
import { whyWords } from "../../strings/why.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Verdict } from "../../ui/chip.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Rows } from "../../ui/rows.tsx";
import { shownVerdictOf } from "./verdict-of.ts";

const Compared = ({ replay }: { readonly replay: ReplyOf<typeof replayDecision> }): ReactElement => (
  <div className="sp-stack">
    <p role="status">
      <strong>
        {replay.changed.length === 0 ? whyWords.unchanged : whyWords.changed(replay.changed.map((part) => whyWords.parts[part]).join(", "))}
      </strong>
    </p>
    <Rows
      caption={whyWords.replayTitle}
      rows={[
        { when: whyWords.before, side: replay.then },
        { when: whyWords.now, side: replay.now },
      ]}
      keyOf={(row) => row.when}
      columns={[
        { key: "when", title: "", cell: (row) => row.when },
        { key: "verdict", title: whyWords.verdict, cell: (row) => <Verdict of={shownVerdictOf(row.side)} /> },
        {
          key: "reason",
          title: whyWords.reason,
          wraps: true,
          cell: (row) => <Foreign text={row.side.reason === undefined ? "" : (words.reasons[row.side.reason] ?? row.side.reason)} />,
        },
        { key: "policies", title: whyWords.policies, wraps: true, cell: (row) => <Foreign text={row.side.policies.join(", ")} isCode /> },
        {
          key: "obligations",
          title: whyWords.obligations,
          wraps: true,
          cell: (row) => <Foreign text={row.side.obligations.join(", ")} isCode />,
        },
        { key: "version", title: whyWords.policyVersion, cell: (row) => <Foreign text={row.side.policy_version} isCode /> },
      ]}
    />
  </div>
);

/** The same question on the facts it had, by the policies of now, or of another version for who sees the whole record. */
export const DecisionReplayPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement => {
  const client = useClient();
  const [version, setVersion] = useState("");
  const [hasIssue, setIssue] = useState(false);
  const seesAll = record.pep !== undefined;
  const replaying = useMutation({
    mutationFn: async (asked: string) =>
      await client.ask(replayDecision, { params: { id: record.decision_id }, body: asked === "" ? {} : { version: asked } }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const asked = version.trim();
    const isWrong = asked !== "" && !policyVersion.safeParse(asked).success;
    setIssue(isWrong);
    if (!isWrong && !replaying.isPending) replaying.mutate(asked);
  };
  return (
    <Panel title={whyWords.replayTitle}>
      <div className="sp-stack">
        <p className="sp-dim">{whyWords.replayLead}</p>
        <form className="sp-filters" onSubmit={submit} noValidate>
          {seesAll ? (
            <TextInput
              label={whyWords.version}
              placeholder={whyWords.versionPlaceholder}
              value={version}
              error={hasIssue ? whyWords.versionIssue : undefined}
              onChange={(event) => setVersion(event.currentTarget.value)}
            />
          ) : null}
          <ActButton type="submit" isBusy={replaying.isPending}>
            {whyWords.replayGo}
          </ActButton>
        </form>
        {replaying.isError ? <Failure error={replaying.error} /> : null}
        {replaying.data === undefined ? null : <Compared replay={replaying.data} />}
      </div>
    </Panel>
  );
};
