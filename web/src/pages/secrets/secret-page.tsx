import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, lazyRouteComponent, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { mountsQuery, SECRETS, secretQuery, type Mount, type ReadSecret, type SecretStory } from "../../api/secrets.ts";
import { words } from "../../strings/en.ts";
import { secretWords } from "../../strings/secrets.ts";
import { formatMoment, visibleText } from "../../strings/format.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Late } from "../../ui/late.tsx";
import { DoneNotice, Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ActsPanel, UsesPanel } from "./acts-panel.tsx";
import { KeyPanel } from "./key-panel.tsx";
import type { Done } from "./planned-dialog.tsx";
import { ActButtons, useActs, type ActName } from "./secret-acts.tsx";
import { keyUri, mountOf, nameOf, pathOf, splitKey } from "./secret-place.ts";
import { VersionsPanel } from "./versions-panel.tsx";

const SecretDialog = lazyRouteComponent(async () => await import("./secret-dialog.tsx"), "SecretDialog");

const route = getRouteApi("/secrets/one");
const text = secretWords.one;

/** The records of an act are written a moment after its answer. */
const RECORDED_MS = 2_500;

const Keys = ({
  uri,
  read,
  chosen,
}: {
  readonly uri: string;
  readonly read: ReadSecret;
  readonly chosen: string | undefined;
}): ReactElement => {
  const { content, detail } = read;
  return (
    <Panel title={text.keys}>
      {content === undefined ? (
        <p className="sp-dim">{detail === undefined ? text.noKeysNow : text.gone}</p>
      ) : (
        <div className="sp-stack sp-tight">
          {content.keys.length === 0 ? <p className="sp-dim">{text.noKeys}</p> : null}
          <ul className="sp-choices">
            {content.keys.map((key) => (
              <li key={key} data-row="">
                <Link
                  className="sp-mono"
                  to="/secrets/one"
                  search={(before) => ({ uri, key, version: before.version })}
                  aria-current={key === chosen ? "true" : undefined}
                >
                  {visibleText(key)}
                </Link>
              </li>
            ))}
          </ul>
          {content.nodes.length === 0 ? null : (
            <>
              <h3>{text.nodes}</h3>
              <ul className="sp-choices">
                {content.nodes.map((name) => (
                  <li key={name} data-row="">
                    <Link className="sp-mono" to="/secrets/one" search={{ uri: `${uri}/${name}` }}>
                      {visibleText(name)}/
                    </Link>
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
      )}
    </Panel>
  );
};

const Facts = ({
  mount,
  detail,
  story,
}: {
  readonly mount: Mount | undefined;
  readonly detail: ReadSecret["detail"];
  readonly story: SecretStory | undefined;
}): ReactElement => (
  <Panel title={text.facts}>
    <FactList>
      <TextFact name={text.place} text={mount?.uri ?? words.common.unknown} isCode />
      <TextFact name={text.owner} text={story?.owner} isCode />
      <TextFact name={text.createdBy} text={story?.created_by} isCode />
      {detail === undefined ? null : (
        <>
          <Fact name={text.current}>{detail.current_version}</Fact>
          <Fact name={text.created}>{formatMoment(detail.created_time)}</Fact>
          <Fact name={text.updated}>{formatMoment(detail.updated_time)}</Fact>
          <Fact name={text.max}>{detail.max_versions}</Fact>
          {detail.delete_version_after === "0s" ? null : <Fact name={text.ends}>{detail.delete_version_after}</Fact>}
          {Object.entries(detail.custom_metadata).map(([name, value]) => (
            <TextFact key={name} name={visibleText(name)} text={value} />
          ))}
        </>
      )}
    </FactList>
    {mount === undefined || mount.versions ? null : <p className="sp-small sp-dim sp-below">{secretWords.version.none}</p>}
  </Panel>
);

const Secret = ({
  uri,
  mounts,
  read,
}: {
  readonly uri: string;
  readonly mounts: readonly Mount[];
  readonly read: ReadSecret & { readonly story: SecretStory | undefined };
}): ReactElement => {
  const { key, version, act } = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const [fact, setFact] = useState<string>();
  const mount = mountOf(mounts, uri);
  const keepsVersions = mount?.versions === true;
  const isWritable = mount?.writable !== false;
  const { content, detail } = read;
  const keys = content?.keys ?? [];
  // A key that is not there yet is what is to be written; what is there is written over by its own button.
  const asked = content?.keys.includes(key ?? "") === true ? undefined : key;
  // An older version may have had keys that are gone.
  const isChosen = key !== undefined && (keys.includes(key) || version !== undefined);
  const chosen = isChosen ? key : keys.length === 1 ? keys[0] : undefined;
  const whole: readonly ActName[] = [
    "write",
    ...(content === undefined ? [] : (["copy", "move", "delete"] as const)),
    ...(keepsVersions && detail !== undefined ? (["destroy"] as const) : []),
  ];
  const acts = useActs(uri, isWritable ? whole : content === undefined ? [] : ["copy"]);
  const ofVersions = useActs(uri, keepsVersions ? ["restore", "destroy"] : []);
  const open = (name: ActName | undefined, of?: number): void =>
    void navigate({
      search: (before) => ({ ...before, act: name ?? "", version: of === undefined ? before.version : String(of) }),
      replace: true,
    });
  const close = (): void => {
    void navigate({ search: (before) => ({ uri, key: before.key }), replace: true });
  };
  const done = ({ said, uri: at }: Done): void => {
    setFact(said);
    setTimeout(() => void queries.invalidateQueries({ queryKey: [SECRETS, "acts"] }), RECORDED_MS);
    if (at === uri || act === "copy") {
      close();
      return;
    }
    notifications.show({ message: said, autoClose: 8_000 });
    void navigate({ search: { uri: at } });
  };
  return (
    <div className="sp-stack">
      <DoneNotice>{fact && visibleText(fact)}</DoneNotice>
      <ActButtons acts={acts} onOpen={open} />
      <div className="sp-split">
        <div className="sp-stack">
          <Keys uri={uri} read={read} chosen={chosen} />
          {chosen === undefined ? (
            keys.length > 1 ? (
              <p className="sp-dim">{text.choose}</p>
            ) : null
          ) : (
            <KeyPanel uri={uri} secretKey={chosen} version={version} isWritable={isWritable} onOpen={open} />
          )}
          {detail === undefined ? null : <VersionsPanel uri={uri} detail={detail} acts={ofVersions} onOpen={open} />}
          <ActsPanel uris={[uri, ...(chosen === undefined ? [] : [keyUri(uri, chosen)])]} story={read.story} />
        </div>
        <div className="sp-stack">
          <UsesPanel uri={uri} />
          <Facts mount={mount} detail={detail} story={read.story} />
        </div>
      </div>
      {act === undefined ? null : (
        <Late>
          <SecretDialog
            act={act as ActName}
            uri={uri}
            secretKey={act === "write" ? asked : chosen}
            version={version === undefined ? undefined : Number(version)}
            mounts={mounts}
            onDone={done}
            onClose={close}
          />
        </Late>
      )}
    </div>
  );
};

const Opened = ({ uri, mounts }: { readonly uri: string; readonly mounts: readonly Mount[] }): ReactElement => {
  const query = useQuery(secretQuery(useClient(), uri, mountOf(mounts, uri)?.versions === true));
  return (
    <QueryView query={query} service="secrets" rows={6}>
      {(read) => <Secret key={uri} uri={uri} mounts={mounts} read={read} />}
    </QueryView>
  );
};

/** One secret: its keys, versions, who did what with it, and which systems name it. */
export const SecretPage = (): ReactElement => {
  const { uri = "" } = route.useSearch();
  const at = splitKey(uri).uri;
  const mounts = useQuery(mountsQuery(useClient()));
  const above = at.slice(0, Math.max(at.lastIndexOf("/"), at.indexOf("://") + 3));
  return (
    <Page
      title={at === "" ? secretWords.title : visibleText(nameOf(at))}
      lead={<span className="sp-mono">{visibleText(at)}</span>}
      actions={
        <>
          <Link className="sp-link" to="/secrets" search={pathOf(above).includes("/") ? { under: above } : {}}>
            {secretWords.toList}
          </Link>
          <CopyButton label={words.common.copyLink} text={() => location.href} />
        </>
      }
    >
      {at === "" ? (
        <Empty text={secretWords.empty} />
      ) : (
        <QueryView query={mounts} service="secrets" rows={6}>
          {(all) => <Opened uri={at} mounts={all} />}
        </QueryView>
      )}
    </Page>
  );
};
