import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DecisionRecord } from "#contract/decisions.ts";
import { useScreens } from "../../shell/use-screen.ts";
import { whyWords } from "../../strings/why.ts";
import { visibleText } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { sourceText } from "./checks-panel.tsx";

type Policy = NonNullable<DecisionRecord["policies"]>[number];

const effectChip = {
  permit: { tone: "allow", icon: "check", text: whyWords.permit },
  forbid: { tone: "deny", icon: "cross", text: whyWords.forbid },
} as const;

const PolicyView = ({ policy, version }: { readonly policy: Policy; readonly version: string | undefined }): ReactElement => (
  <li className="sp-stack">
    <div className="sp-list-row">
      {version === undefined ? (
        <Foreign text={policy.id} isCode />
      ) : (
        <Link className="sp-link sp-mono" to="/policies/$id" params={{ id: policy.id }} search={{ version }}>
          <Foreign text={policy.id} />
        </Link>
      )}
      {policy.decided && policy.effect !== undefined ? <Chip {...effectChip[policy.effect]} /> : null}
      {policy.decided ? null : <Chip tone="quiet" icon="question" text={whyWords.notDecided} />}
      <span className="sp-small sp-dim">
        <Foreign text={sourceText(policy)} isCode />
      </span>
    </div>
    <div>
      <Foreign text={policy.description} />
    </div>
    {policy.text === undefined ? (
      <p className="sp-small sp-dim">{whyWords.policyHidden}</p>
    ) : (
      <pre className="sp-code" tabIndex={0}>
        {visibleText(policy.text)}
      </pre>
    )}
  </li>
);

/** The version whose page can be opened: kept here, and by who may see policies. */
const openVersion = (version: string | undefined, may: string): string | undefined =>
  may === "allowed" && version?.startsWith("v") === true ? version : undefined;

/** The policies that decided, and the one that would have permitted, with file, line and text for who may see them. */
export const PoliciesPanel = ({ record }: { readonly record: DecisionRecord }): ReactElement | null => {
  const version = openVersion(record.policy_version, useScreens().policies);
  if (record.policies === undefined) return null;
  return (
    <Panel title={whyWords.policies}>
      {record.policies.some((policy) => policy.decided) ? null : <p className="sp-dim">{whyWords.policiesNone}</p>}
      {record.policies.length === 0 ? null : (
        <ul className="sp-list">
          {record.policies.map((policy) => (
            <PolicyView key={policy.id} policy={policy} version={version} />
          ))}
        </ul>
      )}
    </Panel>
  );
};
