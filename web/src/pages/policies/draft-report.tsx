import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, type ReactElement } from "react";
import { validatePolicies, type PolicyReport } from "#contract/policies.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { policyWords } from "../../strings/policies.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import type { PolicyDraft } from "./draft-files.ts";
import { ReportView } from "./report-view.tsx";
import { useDebounced } from "../../ui/timers.ts";

const SETTLED_MS = 400;

/** Issues and cases of what is written, asked of the server when no key was pressed for a moment. Nothing is stored. */
export const DraftReport = ({
  from,
  files,
  onReport,
  onGo,
}: {
  readonly from: string;
  readonly files: PolicyDraft["files"];
  readonly onReport: (report: PolicyReport | undefined) => void;
  readonly onGo: (issue: PolicyReport["errors"][number]) => void;
}): ReactElement => {
  const settled = useDebounced(files, SETTLED_MS);
  const isEmpty = Object.keys(settled).length === 0;
  const query = useQuery({
    ...useEndpoint(validatePolicies).query({ body: { version: from, files: { ...settled } } }),
    staleTime: Infinity,
    gcTime: 10_000,
    enabled: !isEmpty,
    placeholderData: keepPreviousData,
  });
  const report = isEmpty ? undefined : query.data;
  useEffect(() => onReport(report), [report, onReport]);
  const isChecking = !isEmpty && (query.isFetching || settled !== files);
  return (
    <Panel
      title={policyWords.report.title}
      aside={
        <span className="sp-small sp-dim" role="status">
          {isChecking ? policyWords.report.checking : ""}
        </span>
      }
    >
      {isEmpty ? (
        <p className="sp-dim">{policyWords.report.unchanged}</p>
      ) : (
        <QueryView query={query} service="pdp">
          {(value) => <ReportView report={value} onGo={onGo} />}
        </QueryView>
      )}
    </Panel>
  );
};
