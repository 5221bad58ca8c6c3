import type { ReactElement } from "react";
import type { PolicyReport } from "#contract/policies.ts";
import { words } from "../../strings/en.ts";
import { policyWords } from "../../strings/policies.ts";
import { Chip } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Tree } from "../../ui/tree.tsx";

type Issue = PolicyReport["errors"][number];

/** Where an issue is, in words. */
const placeOf = (issue: Issue): string =>
  [issue.file ?? "", issue.line === undefined ? "" : policyWords.report.at(issue.line, issue.column)]
    .filter((part) => part !== "")
    .join(" ");

const IssueRow = ({ issue, onGo }: { readonly issue: Issue; readonly onGo: ((issue: Issue) => void) | undefined }): ReactElement => {
  const place = placeOf(issue);
  return (
    <li>
      {place === "" ? null : onGo === undefined || issue.file === undefined ? (
        <Foreign text={place} isCode />
      ) : (
        <button type="button" className="sp-text-button sp-mono" onClick={() => onGo(issue)}>
          <Foreign text={place} isCode />
        </button>
      )}{" "}
      <Foreign text={issue.message} />
      {issue.hint === undefined ? null : (
        <div className="sp-small sp-dim">
          {words.common.named(policyWords.report.hint)}
          <Foreign text={issue.hint} />
        </div>
      )}
    </li>
  );
};

const IssueList = ({
  title,
  issues,
  onGo,
}: {
  readonly title: string;
  readonly issues: readonly Issue[];
  readonly onGo: ((issue: Issue) => void) | undefined;
}): ReactElement | null =>
  issues.length === 0 ? null : (
    <div>
      <h3>{title}</h3>
      <ul className="sp-issue-list">
        {issues.map((issue, index) => (
          <IssueRow key={`${index} ${placeOf(issue)} ${issue.message}`} issue={issue} onGo={onGo} />
        ))}
      </ul>
    </div>
  );

/** Issues, warnings and cases of a version. With `onGo` an issue leads to its place. */
export const ReportView = ({ report, onGo }: { readonly report: PolicyReport; readonly onGo?: (issue: Issue) => void }): ReactElement => {
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
      <IssueList title={text.issues} issues={errors} onGo={onGo} />
      <IssueList title={text.lint} issues={lint} onGo={onGo} />
      <IssueList title={text.warnings} issues={warnings} onGo={onGo} />
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
