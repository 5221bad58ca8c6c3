import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { readPolicy } from "#contract/policies.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { policyWords } from "../../strings/policies.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FactList, TextFact } from "../../ui/fact-list.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { SourceEditor } from "../../ui/source-editor.tsx";
import { EffectChip } from "./state-chip.tsx";

const route = getRouteApi("/policies/$id");
type Policy = ReplyOf<typeof readPolicy>;

const factsOf = (policy: Policy): readonly (readonly [name: string, value: string | undefined])[] => [
  [policyWords.where, `${policy.file}:${policy.line}`],
  [policyWords.version, policy.version],
  [policyWords.one.requestable, policy.requestable],
  [policyWords.one.reason, policy.reason],
  [policyWords.one.obligations, policy.obligations.join(", ") || undefined],
  [policyWords.one.advice, policy.advice.join(", ") || undefined],
];

const Rule = ({ policy }: { readonly policy: Policy }): ReactElement => (
  <div className="sp-stack">
    <section className="sp-panel" aria-label={policyWords.description}>
      <div className="sp-stack">
        <div className="sp-actions">
          <EffectChip effect={policy.effect} />
        </div>
        <FactList>
          {factsOf(policy).map(([name, value]) => (
            <TextFact key={name} name={name} text={value} isCode />
          ))}
        </FactList>
      </div>
    </section>
    <Panel title={policyWords.one.source}>
      <SourceEditor
        key={`${policy.version} ${policy.id}`}
        label={policyWords.one.sourceOf(visibleText(policy.id))}
        path={policy.file}
        text={policy.text}
        firstLine={policy.line}
      />
    </Panel>
  </div>
);

/** One rule: what it says, in words and in Cedar. */
export const PolicyPage = (): ReactElement => {
  const { id } = route.useParams();
  const { version } = route.useSearch();
  const query = useQuery(useEndpoint(readPolicy).query({ params: { id }, query: { version } }));
  const policy = query.data;
  return (
    <Page
      title={policy === undefined ? policyWords.one.title : visibleText(policy.description)}
      lead={<span className="sp-mono">{visibleText(id)}</span>}
      actions={
        <>
          <Link className="sp-link" to="/policies">
            {policyWords.toList}
          </Link>
          {policy === undefined ? null : (
            <>
              <Gate ask={{ type: "policies", action: "view_all" }}>
                <Link
                  className="sp-link"
                  to="/policies/versions/$version"
                  params={{ version: policy.version }}
                  search={{ file: policy.file }}
                >
                  {policyWords.one.openVersion}
                </Link>
              </Gate>
              <Gate ask={{ type: "policies", action: "edit" }}>
                <Link className="sp-link" to="/policies/versions/new" search={{ from: policy.version, file: policy.file }}>
                  {policyWords.one.edit}
                </Link>
              </Gate>
            </>
          )}
          <CopyButton label={words.common.copyLink} text={() => location.href} />
        </>
      }
    >
      <QueryView query={query} service="pdp" rows={6}>
        {(value) => <Rule policy={value} />}
      </QueryView>
    </Page>
  );
};
