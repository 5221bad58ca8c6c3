import { SegmentedControl } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { MaskedPlace } from "#contract/masked-places.ts";
import { readToolOffer } from "../../api/access-requests.ts";
import type { Called } from "../../api/tools.ts";
import { readStepUp } from "../../session/step-up.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import { formatCount, visibleText } from "../../strings/format.ts";
import { Chip, Verdict } from "../../ui/chip.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Issues, StepUpButton } from "../../ui/failure.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { DecisionLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Rows } from "../../ui/rows.tsx";
import { Tree } from "../../ui/tree.tsx";
import { RequestForm } from "../requests/request-form.tsx";
import { leftOutUnder, maskAt, readOutcome, tableOf, type CallOutcome, type ResultPart } from "./call-result.ts";
import { pointerTo } from "../../ui/json-pointer.ts";
import { Masked, MaskedLegend } from "./masked.tsx";

type Shape = "table" | "tree" | "text";

/** Text of a plain value; of anything else its JSON. */
const plainText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

const cellText = (value: unknown): string => {
  if (typeof value === "number") return formatCount(value);
  return Array.isArray(value) ? value.map(plainText).join(", ") : plainText(value);
};

const Cell = ({ value, mask }: { readonly value: unknown; readonly mask: MaskedPlace | undefined }): ReactElement =>
  mask !== undefined ? (
    <Masked mask={mask} left={value === null || value === undefined ? undefined : cellText(value)} />
  ) : value === null || value === undefined ? (
    <span className="sp-dim">{toolWords.emptyValue}</span>
  ) : (
    <span className={cellText(value).length < 40 ? "sp-nowrap" : undefined}>
      <Foreign text={cellText(value)} />
    </span>
  );

interface Numbered {
  readonly row: Readonly<Record<string, unknown>>;
  readonly index: number;
}

const Data = ({
  value,
  shape,
  masked,
}: {
  readonly value: unknown;
  readonly shape: Shape;
  readonly masked: readonly MaskedPlace[];
}): ReactElement => {
  const table = tableOf(value);
  const leftOut = table === undefined ? [] : leftOutUnder(masked, `${table.at}/*`).filter(({ name }) => !table.columns.includes(name));
  if (shape === "table" && table !== undefined)
    return (
      <Rows<Numbered>
        caption={toolWords.resultTitle}
        rows={table.rows.map((row, index) => ({ row, index }))}
        keyOf={({ index }) => String(index)}
        columns={[...table.columns, ...leftOut.map(({ name }) => name)].map((column) => {
          const path = pointerTo(`${table.at}/*`, column);
          return {
            key: column,
            title: visibleText(column),
            isNumber: table.rows.every((row) => typeof row[column] === "number"),
            cell: ({ row }) => <Cell value={row[column]} mask={maskAt(masked, path, row[column])} />,
          };
        })}
      />
    );
  if (shape === "text")
    return (
      <pre className="sp-code" tabIndex={0}>
        {visibleText(JSON.stringify(value, undefined, 2))}
      </pre>
    );
  return <Tree value={value} mark={(path, inner) => markOf(masked, path, inner)} />;
};

const markOf = (masked: readonly MaskedPlace[], path: string, value: unknown): ReactElement | undefined => {
  const mask = maskAt(masked, path, value);
  return mask === undefined ? undefined : <Masked mask={mask} left={value === null ? undefined : cellText(value)} />;
};

const Parts = ({ parts, masked }: { readonly parts: readonly ResultPart[]; readonly masked: readonly MaskedPlace[] }): ReactElement => {
  const hasTable = parts.some((part) => part.kind === "data" && tableOf(part.value) !== undefined);
  const [shape, setShape] = useState<Shape>(hasTable ? "table" : "tree");
  return (
    <div className="sp-stack">
      <div className="sp-actions">
        <SegmentedControl
          aria-label={toolWords.resultTitle}
          value={shape}
          data={[
            ...(hasTable ? [{ value: "table", label: toolWords.asTable }] : []),
            { value: "tree", label: toolWords.asTree },
            { value: "text", label: toolWords.asText },
          ]}
          onChange={(next) => setShape(next === "table" || next === "text" ? next : "tree")}
        />
      </div>
      {parts.map((part, index) =>
        part.kind === "text" ? (
          <pre key={index} className="sp-code" tabIndex={0}>
            {visibleText(part.text)}
          </pre>
        ) : (
          <Data key={index} value={part.value} shape={shape} masked={masked} />
        ),
      )}
      <MaskedLegend masked={masked} />
    </div>
  );
};

const Refused = ({ outcome }: { readonly outcome: Extract<CallOutcome, { kind: "refused" }> }): ReactElement => {
  const stepUp = readStepUp(outcome.data);
  const requestable = readToolOffer(outcome.data);
  const isUnknown = outcome.code === "outcome_unknown" || outcome.code === "upstream_outcome_unknown";
  return (
    <div className="sp-stack">
      <p>
        <strong>
          <Foreign text={outcome.message} />
        </strong>
      </p>
      {outcome.detail === undefined ? null : (
        <p>
          <Foreign text={outcome.detail} />
        </p>
      )}
      {isUnknown ? <p>{toolWords.outcomeUnknown}</p> : null}
      <Issues issues={outcome.issues} />
      {requestable === undefined ? null : (
        <div className="sp-remedy">
          <RequestForm key={requestable.denial.denial.evaluation_id} requestable={requestable} />
        </div>
      )}
      {stepUp === undefined ? null : (
        <div>
          <StepUpButton stepUp={stepUp} />
        </div>
      )}
    </div>
  );
};

/** What a call came to: rows, tree or text; or the refusal with its code, decision and way out. */
export const ResultView = ({ called }: { readonly called: Called }): ReactElement => {
  const outcome = readOutcome(called.response);
  const refused = outcome?.kind === "refused" ? outcome : undefined;
  const decisionId = refused?.decisionId ?? called.decisionId;
  const isStepUp = refused !== undefined && readStepUp(refused.data) !== undefined;
  return (
    <Panel
      title={toolWords.resultTitle}
      aside={
        <span className="sp-actions">
          {outcome?.kind === "done" ? (
            <Chip tone="allow" icon="check" text={toolWords.resultDone} />
          ) : isStepUp ? (
            <Verdict of="step_up" />
          ) : (
            <Chip tone="deny" icon="cross" text={toolWords.resultRefused} />
          )}
          <span className="sp-small sp-dim">{toolWords.took(called.milliseconds)}</span>
        </span>
      }
    >
      <div className="sp-stack">
        {outcome === undefined ? <p>{toolWords.resultUnreadable}</p> : null}
        {outcome?.kind === "done" ? <Parts parts={outcome.parts} masked={outcome.masked} /> : null}
        {refused === undefined ? null : <Refused outcome={refused} />}
        <FactList isSmall>
          <TextFact name={words.failure.code} text={refused?.code} isCode />
          <Fact name={words.failure.decision}>{decisionId && <DecisionLink id={decisionId} />}</Fact>
          <TextFact name={words.failure.correlation} text={refused?.correlationId ?? called.correlationId} isCode />
        </FactList>
        <div className="sp-actions">
          <CopyButton label={words.common.copyJson} text={() => JSON.stringify(called.response, undefined, 2)} />
        </div>
      </div>
    </Panel>
  );
};
