import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { readRollout } from "#contract/rollouts.ts";
import { useClient } from "../../api/client-context.ts";
import { matrixQuery } from "../../api/policies.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, visibleText } from "../../strings/format.ts";
import { policyWords } from "../../strings/policies.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { DoneNotice, Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { FileList } from "./file-list.tsx";
import { MatrixView } from "./matrix-view.tsx";
import { VersionReplayPanel } from "./replay-panel.tsx";
import { ReportView } from "./report-view.tsx";
import { ShadowPanel } from "./shadow-panel.tsx";
import { SourceEditor } from "../../ui/source-editor.tsx";
import { StateChip } from "./state-chip.tsx";
import { VersionActs } from "./version-acts.tsx";

const route = getRouteApi("/policies/versions/$version");
type Version = ReplyOf<typeof readRollout>;

const Facts = ({ version }: { readonly version: Version }): ReactElement => (
  <section className="sp-panel" aria-label={policyWords.oneVersion.facts}>
    <div className="sp-stack">
      <div className="sp-actions">
        <StateChip state={version.state} />
      </div>
      <FactList>
        <TextFact name={policyWords.by} text={version.created_by} isCode />
        <Fact name={policyWords.created}>{formatMoment(version.created_at)}</Fact>
        {version.activated_at === undefined ? null : <Fact name={policyWords.activated}>{formatMoment(version.activated_at)}</Fact>}
        <TextFact name={policyWords.oneVersion.digest} text={version.digest} isCode />
      </FactList>
    </div>
  </section>
);

const Files = ({ version }: { readonly version: Version }): ReactElement => {
  const { file } = route.useSearch();
  const navigate = route.useNavigate();
  const paths = Object.keys(version.files);
  const open = paths.find((path) => path === file) ?? paths.find((path) => path.endsWith(".cedar")) ?? paths[0];
  return (
    <Panel title={policyWords.oneVersion.files}>
      <div className="sp-files">
        <FileList
          files={paths.map((path) => ({ path }))}
          open={open}
          onOpen={(path) => void navigate({ search: (before) => ({ ...before, file: path }), replace: true })}
        />
        {open === undefined ? null : (
          <SourceEditor key={open} label={policyWords.oneVersion.fileOf(visibleText(open))} path={open} text={version.files[open] ?? ""} />
        )}
      </div>
    </Panel>
  );
};

const Changes = ({ version }: { readonly version: string }): ReactElement => (
  <Panel title={policyWords.matrix.title}>
    <div className="sp-stack">
      <p className="sp-dim">{policyWords.matrix.lead}</p>
      <MatrixView query={useQuery(matrixQuery(useClient(), version))} />
    </div>
  </Panel>
);

const VersionView = ({ version }: { readonly version: Version }): ReactElement => {
  const { valid } = version.report;
  return (
    <div className="sp-stack">
      <Facts version={version} />
      {version.state === "active" || !valid ? null : <Changes version={version.version} />}
      {version.state === "shadow" ? <ShadowPanel version={version.version} /> : null}
      {valid ? <VersionReplayPanel version={version.version} /> : null}
      <Panel title={policyWords.report.title}>
        <ReportView report={version.report} />
      </Panel>
      <Files version={version} />
    </div>
  );
};

/** One version: where it stands, what it would change, what it is made of, and what may be done with it. */
export const VersionPage = (): ReactElement => {
  const { version: name } = route.useParams();
  const [fact, setFact] = useState<string>();
  const query = useQuery(useEndpoint(readRollout).query({ params: { version: name } }));
  return (
    <Page
      title={query.data === undefined ? policyWords.oneVersion.title : visibleText(query.data.message)}
      lead={<span className="sp-mono">{visibleText(name)}</span>}
      actions={
        <>
          <Link className="sp-link" to="/policies">
            {policyWords.toList}
          </Link>
          <CopyButton label={words.common.copyLink} text={() => location.href} />
          {query.data === undefined ? null : <VersionActs version={query.data} onFact={setFact} />}
        </>
      }
    >
      <DoneNotice>{fact}</DoneNotice>
      <QueryView query={query} service="pdp" rows={8}>
        {(version) => <VersionView version={version} />}
      </QueryView>
    </Page>
  );
};
