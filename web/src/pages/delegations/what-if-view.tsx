import type { ReactElement } from "react";
import type { WhatIf } from "#contract/delegations.ts";
import { words } from "../../strings/en.ts";
import { grantWords } from "../../strings/grant.ts";
import { formatCount } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { CodesFact, Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";

const Audiences = ({ rows }: { readonly rows: WhatIf["audiences"]["added"] }): ReactElement =>
  rows.length === 0 ? (
    <span className="sp-dim">{words.common.none}</span>
  ) : (
    <ul className="sp-list">
      {rows.map((row) => (
        <li key={row.audience}>
          <Foreign text={row.audience} isCode /> <span className="sp-small sp-dim">{row.scopes.join(" ")}</span>
        </li>
      ))}
    </ul>
  );

/** What a draft would add or take, in the server's words. */
export const WhatIfView = ({ whatIf }: { readonly whatIf: WhatIf }): ReactElement => {
  const masks = Object.entries(whatIf.columns_masked);
  return (
    <div className="sp-stack">
      {whatIf.warnings.length === 0 ? null : (
        <ul className="sp-list" aria-label={grantWords.warnings}>
          {whatIf.warnings.map((warning) => (
            <li key={`${warning.code} ${warning.message}`} className="sp-list-row">
              <Chip tone="stepup" icon="warning" text={grantWords.warnings} />
              <Foreign text={warning.message} />
            </li>
          ))}
        </ul>
      )}
      <FactList>
        <CodesFact name={grantWords.added} texts={whatIf.tools.added} none={grantWords.noneAdded} />
        <CodesFact name={grantWords.kept} texts={whatIf.tools.kept} />
        <CodesFact name={grantWords.removed} texts={whatIf.tools.removed} />
        <Fact name={grantWords.audiences}>
          <Audiences rows={whatIf.audiences.added} />
        </Fact>
        {whatIf.audiences.removed.length === 0 ? null : (
          <Fact name={grantWords.audiencesRemoved}>
            <Audiences rows={whatIf.audiences.removed} />
          </Fact>
        )}
        <CodesFact name={grantWords.tenants} texts={whatIf.tenant_ids} none={words.common.none} />
        <Fact name={grantWords.masked}>
          {masks.length === 0 ? (
            <span className="sp-dim">{grantWords.maskedNone}</span>
          ) : (
            <ul className="sp-list">
              {masks.map(([column, kind]) => (
                <li key={column}>
                  <Foreign text={column} isCode /> <span className="sp-small sp-dim">{grantWords.maskKinds[kind] ?? kind}</span>
                </li>
              ))}
            </ul>
          )}
        </Fact>
        <CodesFact name={grantWords.stepUpTools} texts={whatIf.step_up_tools} none={words.common.none} />
        <Fact name={grantWords.graphVersion}>{formatCount(whatIf.graph_version)}</Fact>
      </FactList>
    </div>
  );
};
