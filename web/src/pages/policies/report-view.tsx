import type { ReactElement } from "react";
import type { PolicyReport } from "#contract/policies.ts";
import { words } from "../../strings/en.ts";
import { policyWords } from "../../strings/policies.ts";
import { Chip } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Tree } from "../../ui/tree.tsx";

type Fault = PolicyReport["errors"][number];

/** Where a fault is, in words. */
const placeOf = (fault: Fault): string =>
  [fault.file ?? "", fault.line === undefined ? "" : policyWords.report.at(fault.line, fault.column)]
    .filter((part) => part !== "")
    .join(" ");

const FaultRow = ({ fault, onGo }: { readonly fault: Fault; readonly onGo: ((fault: Fault) => void) | undefined }): ReactElement => {
  const place = placeOf(fault);
  return (
    <li>
      {place === "" ? null : onGo === undefined || fault.file === undefined ? (
        <Foreign text={place} isCode />
      ) : (
        <button type="button" className="sp-text-button sp-mono" onClick={() => onGo(fault)}>
          <Foreign text={place} isCode />
        </button>
      )}{" "}
      <Foreign text={fault.message} />
      {fault.hint === undefined ? null : (
        <div className="sp-small sp-dim">
          {words.common.named(policyWords.report.hint)}
          <Foreign text={fault.hint} />
        </div>
      )}
    </li>
  );
};

const FaultList = ({
  title,
  faults,
  onGo,
}: {
  readonly title: string;
  readonly faults: readonly Fault[];
  readonly onGo: ((fault: Fault) => void) | undefined;
}): ReactElement | null =>
  faults.length === 0 ? null : (
    <div>
      <h3>{title}</h3>
      <ul className="sp-fault-list">
        {faults.map((fault, index) => (
          <FaultRow key={`${index} ${placeOf(fault)} ${fault.message}`} fault={fault} onGo={onGo} />
        ))}
      </ul>
    </div>
  );

/** Faults, warnings and cases of a version. With `onGo` a fault leads to its place. */
export const ReportView = ({ report, onGo }: { readonly report: PolicyReport; readonly onGo?: (fault: Fault) => void }): ReactElement => {
  const { valid, errors, lint, warnings, cases } = report;
  const text = policyWords.report;
  return (
    <div className="sp-stack">
      <div className="sp-actions">
        {valid ? <Chip tone="allow" icon="check" text={text.valid} /> : <Chip tone="deny" icon="cross" text={text.invalid} />}
        {valid ? (
          <Chip
            tone={cases.failed.length === 0 ? "allow" : "deny"}
            icon={cases.failed.length === 0 ? "check" : "cross"}
            text={text.cases(cases.passed, cases.failed.length)}
          />
        ) : (
          <span className="sp-dim">{text.casesNone}</span>
        )}
      </div>
      {errors.length + lint.length + warnings.length === 0 ? <p className="sp-dim">{text.none}</p> : null}
      <FaultList title={text.faults} faults={errors} onGo={onGo} />
      <FaultList title={text.lint} faults={lint} onGo={onGo} />
      <FaultList title={text.warnings} faults={warnings} onGo={onGo} />
      {cases.failed.length === 0 ? null : (
        <div>
          <h3>{text.failed}</h3>
          <ul className="sp-list">
            {cases.failed.map((failed) => (
              <li key={`${failed.file ?? ""} ${failed.name}`} className="sp-remedy">
                <div>
                  <strong>
                    <Foreign text={failed.name} />
                  </strong>{" "}
                  {failed.file === undefined ? null : <Foreign text={failed.file} isCode />}
                </div>
                <div className="sp-columns">
                  <div>
                    <div className="sp-small sp-dim">{text.expected}</div>
                    <Tree value={failed.expected} />
                  </div>
                  <div>
                    <div className="sp-small sp-dim">{text.got}</div>
                    <Tree value={failed.got} />
                  </div>
                </div>
              </li>
            ))}
          </ul>
        </div>
      )}
      {valid && cases.failed.length === 0 ? null : <p className="sp-small sp-dim">{text.blocked}</p>}
    </div>
  );
};
