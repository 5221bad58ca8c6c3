import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { ConfigWritten } from "#contract/configs.ts";
import { isObject } from "#contract/is-object.ts";
import { useClient } from "../../api/client-context.ts";
import { ifMatch } from "../../api/queries.ts";
import { hasCode } from "../../model/gateway-error.ts";
import { publishOver, systems, systemQuery, type ReadSystem, type VersionRow } from "../../api/systems.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useCan, useStanding } from "../../decisions/use-can.ts";
import { useDraft } from "../../session/use-draft.ts";
import { formatMoment, visibleText } from "../../strings/format.ts";
import { words } from "../../strings/en.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView, Waiting } from "../../ui/query-view.tsx";
import { OffBy } from "../../ui/switched-off.tsx";
import { ConfigIssues } from "./config-issues.tsx";
import { ConflictPanel } from "./conflict-panel.tsx";
import { EffectsView, NameList } from "./effects-view.tsx";
import { isShared } from "./is-shared.ts";
import { PublishAgain } from "./publish-again.tsx";
import { PublishDialog } from "./publish-dialog.tsx";
import { ReasonedDialog } from "../tools/reasoned-dialog.tsx";
import { RestoredNotice } from "./restored-notice.tsx";
import { SaidNotice, useSay } from "./said.tsx";
import { StateChip } from "./state-chip.tsx";
import { draftShape, emptyDraft, isOverOlder, withText } from "./system-draft.ts";
import { SwitchActs } from "../tools/switch-acts.tsx";
import { SystemGate } from "./system-gate.tsx";
import { SystemEditor } from "./system-editor.tsx";
import { toolsOf } from "./tools-of.ts";
import { ToolsPanel } from "./tools-panel.tsx";
import type { Tried } from "./try-report.tsx";
import { VersionPanel, VersionView } from "./version-panel.tsx";

const route = getRouteApi("/systems/$name");
const text = systemWords.one;
const edit = { type: "system", action: "edit" };

const textIn = (document: unknown, name: "owner" | "title"): string | undefined => {
  const text = isObject(document) ? document[name] : undefined;
  return typeof text === "string" ? text : undefined;
};

const Facts = ({ system }: { readonly system: ReadSystem }): ReactElement => {
  const { name, state, version, author, at, reason, degraded, document, switched_off: off } = system;
  const say = useSay();
  const serving = degraded?.serving_version ?? undefined;
  return (
    <Panel title={text.facts} aside={<StateChip system={system} />}>
      <div className="sp-stack">
        {off === undefined ? null : (
          <p>
            <OffBy off={off} />
          </p>
        )}
        <FactList>
          <Fact name={systemWords.version}>{version}</Fact>
          <TextFact name={text.author} text={author} isCode />
          <Fact name={text.at}>
            <time dateTime={at}>{formatMoment(at)}</time>
          </Fact>
          <TextFact name={text.reason} text={reason || undefined} />
          <TextFact name={text.owner} text={textIn(document, "owner")} isCode />
        </FactList>
        {state === "off" ? <p className="sp-dim">{text.off}</p> : null}
        {degraded === undefined ? null : (
          <div>
            <h3>{serving === version ? text.partly : text.degraded}</h3>
            <p>{serving === version ? text.partlyWhy : serving === undefined ? text.degradedNone : text.degradedServing(serving)}</p>
            <ConfigIssues issues={degraded.errors} />
          </div>
        )}
        <div className="sp-actions">
          <SwitchActs kind="system" name={name} off={off} onDone={(sentence) => say(name, { sentence })}>
            <NameList title={systemWords.tools} names={toolsOf(system, []).map(({ tool }) => tool.name)} />
          </SwitchActs>
        </div>
      </div>
    </Panel>
  );
};

/** Who took it away, and that it can be brought back. */
const Gone = ({ row: { author, at, reason } }: { readonly row: VersionRow }): ReactElement => (
  <Panel title={text.goneTitle} aside={<StateChip system={{ state: "deleted" }} />}>
    <p>
      <Foreign text={text.goneSentence(author, formatMoment(at))} />
    </p>
    {reason === "" ? null : (
      <p className="sp-dim">
        <Foreign text={text.goneWhy(reason)} />
      </p>
    )}
  </Panel>
);

const Editing = ({ system }: { readonly system: ReadSystem }): ReactElement => {
  const client = useClient();
  const say = useSay();
  const { act } = route.useSearch();
  const navigate = route.useNavigate();
  const can = useCan(edit);
  const reach = useStanding({ type: "deployment", action: "edit_systems" });
  const mayEdit = can === "allowed" && (!isShared(system.document) || reach.can === "allowed" || reach.isStepUp);
  const { name, version, etag, text: bytes } = system;
  const draft = useDraft(`system.${name}`, emptyDraft, draftShape);
  const [tried, setTried] = useState<Tried>();
  const [isPublishing, setPublishing] = useState(false);
  const { value } = draft;
  const shown = value.text ?? bytes;
  // What this page publishes itself is heard of before its own answer is there.
  const hasConflict = !isPublishing && isOverOlder(value, etag);
  // What explain names: the graph is told again of what serves.
  const isAgain = act === "publish" && mayEdit && value.text === undefined && bytes !== "";
  const setAgain = (next: "publish" | ""): void => void navigate({ search: (before) => ({ ...before, act: next }), replace: true });
  const published = ({ version: made, warnings }: ConfigWritten): void => say(name, { sentence: text.published(name, made), warnings });
  const isFit = value.text !== undefined && !hasConflict && tried?.text === value.text && tried.written.valid === true;
  // Not one editor to read in, and a moment later another one to write in.
  if (can === "pending") return <Waiting rows={8} />;
  return (
    <>
      {draft.wasRestored && value.text !== undefined ? <RestoredNotice /> : null}
      {hasConflict ? (
        <ConflictPanel
          system={system}
          from={value.version ?? version}
          onKeep={() => draft.change({ ...value, version, etag })}
          onDrop={draft.forget}
        />
      ) : null}
      <SystemEditor
        name={name}
        label={text.editorOf(name)}
        text={shown}
        isDraft={value.text !== undefined}
        tried={tried}
        onTried={setTried}
        onChange={mayEdit ? (changed) => draft.change(withText(value, { version, etag, text: bytes }, changed)) : undefined}
      />
      {mayEdit ? (
        <div className="sp-actions">
          <ActButton isBusy={false} disabled={!isFit} onClick={() => setPublishing(true)}>
            {text.publish}
          </ActButton>
          {value.text === undefined ? (
            <Button variant="default" disabled={bytes === ""} onClick={() => setAgain("publish")}>
              {text.again}
            </Button>
          ) : (
            <Button variant="default" onClick={draft.forget}>
              {text.discard}
            </Button>
          )}
        </div>
      ) : null}
      {isPublishing && isFit ? (
        <PublishDialog
          tried={tried}
          publish={async (document, reason) => await publishOver(client, name, document, reason, value.etag ?? etag)}
          onDone={(written) => {
            setPublishing(false);
            draft.forget();
            published(written);
          }}
          onClose={() => setPublishing(false)}
        />
      ) : null}
      {isAgain ? (
        <PublishAgain
          system={system}
          onDone={(written) => {
            setAgain("");
            published(written);
          }}
          onClose={() => setAgain("")}
        />
      ) : null}
    </>
  );
};

const Removal = ({ system }: { readonly system: ReadSystem }): ReactElement => {
  const { name, etag } = system;
  const say = useSay();
  const remove = useEndpoint(systems.remove);
  const { act } = route.useSearch();
  const navigate = route.useNavigate();
  const open = (next: string): void => void navigate({ search: (before) => ({ ...before, act: next }), replace: true });
  const query = useQuery({ ...remove.query({ params: { name }, query: { dryRun: "true" } }), enabled: act === "delete" });
  return (
    <>
      <Button variant="default" onClick={() => open("delete")}>
        {text.remove}
      </Button>
      {act === "delete" ? (
        <ReasonedDialog
          title={text.removeTitle(name)}
          sentence={text.removeSentence}
          verb={text.remove}
          isDangerous
          isReady={query.data !== undefined}
          act={async (reason) => await remove.ask({ params: { name }, query: { reason }, ...ifMatch(etag) })}
          onDone={() => {
            open("");
            say(name, { sentence: text.removed(name) });
          }}
          onClose={() => open("")}
        >
          <QueryView query={query} service="crud">
            {(written) => <EffectsView written={written} />}
          </QueryView>
        </ReasonedDialog>
      ) : null}
    </>
  );
};

/** One system: what serves, its document to be changed, its tools to be tried, its versions to be gone back to. */
export const SystemPage = (): ReactElement => {
  const { name } = route.useParams();
  const { version } = route.useSearch();
  const query = useQuery(systemQuery(useClient(), name));
  // What was taken away is not there any more, though what was read of it before still is in memory.
  const system = query.isError ? undefined : query.data;
  const isAbsent = hasCode(query.error, "not_found");
  // One that was taken away has its versions still, the newest of which says so.
  const versions = useInfiniteQuery(useEndpoint(systems.versions).pages({ params: { name }, query: { limit: 20 } }));
  const [newest] = versions.data?.pages[0]?.versions ?? [];
  const gone = isAbsent && newest?.deleted === true ? newest : undefined;
  const isAskingWhy = isAbsent && versions.isFetching;
  const title = textIn(system?.document, "title");
  return (
    <Page
      title={title === undefined ? text.title : visibleText(title)}
      lead={<span className="sp-mono">{visibleText(name)}</span>}
      actions={
        <>
          <Link className="sp-link" to="/systems">
            {systemWords.toList}
          </Link>
          {system === undefined ? null : (
            <>
              <SystemGate system={system} action="edit">
                <Link className="sp-link" to="/systems/import" search={{ system: name }}>
                  {text.reimport}
                </Link>
              </SystemGate>
              <SystemGate system={system} action="delete">
                <Removal system={system} />
              </SystemGate>
            </>
          )}
          <CopyButton label={words.common.copyLink} text={() => location.href} />
        </>
      }
    >
      <div className="sp-stack">
        <SaidNotice name={name} />
        {gone === undefined ? null : <Gone row={gone} />}
        {isAskingWhy && gone === undefined ? <Waiting rows={4} /> : null}
        {gone !== undefined || isAskingWhy ? null : (
          <QueryView query={query} service="crud" rows={4}>
            {(read) => (
              <>
                <Facts system={read} />
                {version === undefined ? null : <VersionView key={version} name={name} system={read} version={Number(version)} />}
                <ToolsPanel system={read} />
                <Editing key={name} system={read} />
              </>
            )}
          </QueryView>
        )}
        {gone !== undefined && version !== undefined ? (
          <VersionView key={version} name={name} system={undefined} version={Number(version)} />
        ) : null}
        {system === undefined && gone === undefined ? null : <VersionPanel name={name} system={system} />}
      </div>
    </Page>
  );
};
