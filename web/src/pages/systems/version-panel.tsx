import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { ifMatch } from "../../api/queries.ts";
import { systems, versionTextQuery, type ReadSystem, type VersionRow } from "../../api/systems.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { formatCount } from "../../strings/format.ts";
import { systemWords } from "../../strings/systems.ts";
import { DiffView } from "../../ui/diff-view.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Moment, type Column } from "../../ui/rows.tsx";
import { SourceEditor } from "../../ui/source-editor.tsx";
import { ConfigIssues } from "./config-issues.tsx";
import { EffectsView } from "./effects-view.tsx";
import { ReasonedDialog } from "../tools/reasoned-dialog.tsx";
import { useSay } from "./said.tsx";
import { SystemGate } from "./system-gate.tsx";

const route = getRouteApi("/systems/$name");
const text = systemWords.versions;

export interface VersionsProps {
  readonly name: string;
  /** Absent: it was taken away. */
  readonly system: ReadSystem | undefined;
}

const noteOf = ({ deleted, restored_from: from }: VersionRow): string =>
  [deleted === true ? text.deleted : "", from === undefined ? "" : text.restoredFrom(from)].filter((part) => part !== "").join(", ");

const RollBackDialog = ({
  name,
  system,
  version,
  onClose,
}: VersionsProps & { readonly version: number; readonly onClose: () => void }): ReactElement => {
  const rollBack = useEndpoint(systems.rollBack);
  const say = useSay();
  const query = useQuery(rollBack.query({ params: { name }, query: { dryRun: "true" }, body: { version } }));
  return (
    <ReasonedDialog
      title={text.rollbackTitle(version)}
      sentence={text.rollbackSentence}
      verb={text.rollback}
      isDangerous
      isReady={query.data !== undefined}
      act={async (reason) => await rollBack.ask({ params: { name }, query: {}, body: { version, reason }, ...ifMatch(system?.etag) })}
      onDone={(written) => {
        onClose();
        say(name, { sentence: text.rolledBack(version, written.version), warnings: written.warnings });
      }}
      onClose={onClose}
    >
      <QueryView query={query} service="crud">
        {(tried) => (tried.valid === false ? <ConfigIssues issues={tried.errors ?? []} /> : <EffectsView written={tried} />)}
      </QueryView>
    </ReasonedDialog>
  );
};

/** One version: the way back to it, and what that would change. */
export const VersionView = ({ version, ...props }: VersionsProps & { readonly version: number }): ReactElement => {
  const { name, system } = props;
  const client = useClient();
  const { act } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(versionTextQuery(client, name, version));
  const isNewest = system?.version === version;
  const open = (next: string): void => void navigate({ search: (before) => ({ ...before, act: next }), replace: true });
  const close = (): void => void navigate({ search: {}, replace: true });
  return (
    <Panel
      title={text.shown(version)}
      aside={
        <div className="sp-actions">
          {isNewest ? null : (
            <SystemGate system={system} action="edit">
              <Button variant="default" onClick={() => open("rollback")}>
                {text.rollback}
              </Button>
            </SystemGate>
          )}
          <Button variant="default" onClick={close}>
            {text.close}
          </Button>
        </div>
      }
    >
      <QueryView query={query} service="crud">
        {(shown) => (
          <div className="sp-stack">
            {isNewest || system === undefined ? null : (
              <>
                <p className="sp-dim">{text.diff(system.version, version)}</p>
                <DiffView label={text.diffLabel} before={system.text} after={shown} />
              </>
            )}
            <details open={isNewest || system === undefined}>
              <summary>{text.whole}</summary>
              <SourceEditor key={version} label={text.whole} path={`${name}.yaml`} text={shown} />
            </details>
          </div>
        )}
      </QueryView>
      {act === "rollback" ? <RollBackDialog {...props} version={version} onClose={close} /> : null}
    </Panel>
  );
};

/** All versions, newest first. */
export const VersionPanel = ({ name, system }: VersionsProps): ReactElement => {
  const query = useInfiniteQuery(useEndpoint(systems.versions).pages({ params: { name }, query: { limit: 20 } }));
  const columns: readonly Column<VersionRow>[] = [
    {
      key: "version",
      title: text.version,
      cell: ({ version, deleted }) =>
        deleted === true ? (
          formatCount(version)
        ) : (
          <Link className="sp-link" to="/systems/$name" params={{ name }} search={{ version: String(version) }}>
            {formatCount(version)}
          </Link>
        ),
    },
    { key: "by", title: text.by, cell: ({ author }) => <Foreign text={author} isCode /> },
    { key: "reason", title: text.reason, wraps: true, cell: ({ reason }) => <Foreign text={reason} /> },
    { key: "at", title: text.at, cell: ({ at }) => <Moment at={at} /> },
    {
      key: "note",
      title: text.note,
      cell: (row) => words.common.facts(noteOf(row), row.version === system?.version ? text.current : ""),
    },
  ];
  return (
    <Panel title={text.title}>
      <PagedRows
        query={query}
        service="crud"
        waiting={3}
        rowsOf={({ versions }) => versions}
        empty={<Empty text={text.empty} />}
        caption={text.title}
        columns={columns}
        keyOf={({ version }) => String(version)}
      />
    </Panel>
  );
};
