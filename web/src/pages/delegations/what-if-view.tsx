import type { ReactElement } from "react";
import type { WhatIf } from "#contract/delegations.ts";
import { words } from "../../strings/en.ts";
import { grantWords } from "../../strings/grant.ts";
import { formatCount } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";

const Names = ({ names, none }: { readonly names: readonly string[]; readonly none: string }): ReactElement =>
  names.length === 0 ? (
    <span className="sp-dim">{none}</span>
  ) : (
    <ul className="sp-list">
      {names.map((name) => (
        <li key={name}>
          <Foreign text={name} isCode />
        </li>
      ))}
    </ul>
  );

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
        <Fact name={grantWords.added}>
          <Names names={whatIf.tools.added} none={grantWords.noneAdded} />
        </Fact>
        {whatIf.tools.kept.length === 0 ? null : (
          <Fact name={grantWords.kept}>
            <Names names={whatIf.tools.kept} none={words.common.none} />
          </Fact>
        )}
        {whatIf.tools.removed.length === 0 ? null : (
          <Fact name={grantWords.removed}>
            <Names names={whatIf.tools.removed} none={words.common.none} />
          </Fact>
        )}
        <Fact name={grantWords.audiences}>
          <Audiences rows={whatIf.audiences.added} />
        </Fact>
        {whatIf.audiences.removed.length === 0 ? null : (
          <Fact name={grantWords.audiencesRemoved}>
            <Audiences rows={whatIf.audiences.removed} />
          </Fact>
        )}
        <Fact name={grantWords.tenants}>
          <Names names={whatIf.tenant_ids} none={words.common.none} />
        </Fact>
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
        <Fact name={grantWords.stepUpTools}>
          <Names names={whatIf.step_up_tools} none={words.common.none} />
        </Fact>
        <Fact name={grantWords.graphVersion}>{formatCount(whatIf.graph_version)}</Fact>
      </FactList>
    </div>
  );
};
