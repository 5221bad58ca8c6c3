import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, lazyRouteComponent, Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement } from "react";
import { listSecretMetadata, searchSecrets } from "#contract/secret-listings.ts";
import { useClient } from "../../api/client-context.ts";
import { mountsQuery, type Mount } from "../../api/secrets.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { secretWords } from "../../strings/secrets.ts";
import { visibleText } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Late } from "../../ui/late.tsx";
import { DoneNotice, Page } from "../../ui/page.tsx";
import { PagedRows } from "../../ui/paged-rows.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import type { Column } from "../../ui/rows.tsx";
import { useDebounced } from "../../ui/timers.ts";
import type { Done } from "./planned-dialog.tsx";
import { mountOf, pathOf, treeOf, type TreeNode } from "./secret-place.ts";

const WriteDialog = lazyRouteComponent(async () => await import("./write-dialogs.tsx"), "WriteDialog");

const route = getRouteApi("/secrets");
const text = secretWords;

const Leaf = ({ node }: { readonly node: TreeNode }): ReactElement => (
  <div data-row="" className="sp-leaf">
    <Link className="sp-link sp-mono" to="/secrets/one" search={{ uri: node.uri }}>
      {visibleText(node.name)}
    </Link>
    {node.keys === null || node.keys === undefined ? null : <span className="sp-small sp-dim">{text.keyCount(node.keys)}</span>}
  </div>
);

const OPEN_TO = 2;

const Branches = ({ nodes, depth = 0 }: { readonly nodes: readonly TreeNode[]; readonly depth?: number }): ReactElement => (
  <ul className="sp-branches">
    {nodes.map((node) => (
      <li key={node.uri}>
        {node.keys === undefined ? null : <Leaf node={node} />}
        {node.below.length === 0 ? null : (
          <details open={depth < OPEN_TO}>
            <summary>
              <span className="sp-mono">{visibleText(node.name)}/</span>{" "}
              <span className="sp-small sp-dim">{text.secretCount(node.count)}</span>
            </summary>
            <Branches nodes={node.below} depth={depth + 1} />
          </details>
        )}
      </li>
    ))}
  </ul>
);

/** What lies at one place, with a state of its own: a store that is away hides no other. */
const Place = ({ mount, prefix }: { readonly mount: Mount; readonly prefix: string }): ReactElement => {
  const query = useInfiniteQuery(useEndpoint(listSecretMetadata).pages({ query: { prefix, depth: "8", limit: "500" } }));
  return (
    <Panel
      title={visibleText(prefix)}
      aside={
        <span className="sp-actions">
          <Chip tone="quiet" icon="clock" text={mount.versions ? text.versions : text.noVersions} />
          {mount.writable ? null : <Chip tone="quiet" icon="pause" text={text.readOnly} />}
        </span>
      }
    >
      <QueryView query={query} service="secrets" rows={4}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          const truncatedBy = pages.at(-1)?.truncated_by;
          return items.length === 0 ? (
            <p className="sp-dim">{mount.writable ? text.emptyWritable : text.empty}</p>
          ) : (
            <div className="sp-stack sp-tight">
              <Branches nodes={treeOf(prefix, items)} />
              {truncatedBy === undefined ? null : (
                <p className="sp-dim">{words.common.facts(text.truncated[truncatedBy], text.narrower)}</p>
              )}
              {query.hasNextPage ? (
                <div>
                  <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                    {words.common.more}
                  </Button>
                </div>
              ) : null}
            </div>
          );
        }}
      </QueryView>
    </Panel>
  );
};

interface FoundRow {
  readonly uri: string;
  readonly match: "path" | "key";
}

const columns: readonly Column<FoundRow>[] = [
  {
    key: "path",
    title: text.found.path,
    wraps: true,
    cell: ({ uri }) => (
      <Link className="sp-link sp-mono" to="/secrets/one" search={{ uri }}>
        {visibleText(pathOf(uri))}
      </Link>
    ),
  },
  { key: "match", title: text.found.match, cell: ({ match }) => text.found.matches[match] },
];

/** What is found at one place, as `Place`. */
const Found = ({ q, prefix }: { readonly q: string; readonly prefix: string }): ReactElement => {
  const navigate = route.useNavigate();
  const query = useInfiniteQuery(useEndpoint(searchSecrets).pages({ query: { q, prefix, depth: "8", limit: "100" } }));
  const title = text.found.title(visibleText(prefix));
  return (
    <Panel title={title}>
      <PagedRows
        query={query}
        service="secrets"
        waiting={4}
        rowsOf={({ items }) => items}
        caption={title}
        columns={columns}
        keyOf={({ uri }) => uri}
        empty={<Empty text={text.emptyFound} onClear={() => void navigate({ search: {} })} />}
        further={({ truncated_by: by }) => (by === undefined ? undefined : { text: text.truncated[by], button: words.common.more })}
      />
    </Panel>
  );
};

const Places = ({ mounts }: { readonly mounts: readonly Mount[] }): ReactElement => {
  const { q = "", under, act } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q]);
  const settled = useDebounced(q.trim(), 250);
  const [fact, setFact] = useState<Done>();
  const open = (isOpen: boolean): void => void navigate({ search: (before) => ({ ...before, act: isOpen ? "write" : "" }), replace: true });
  if (mounts.length === 0)
    return (
      <Empty text={text.noMounts}>
        <p>{text.noMountsNext}</p>
      </Empty>
    );
  const within = under === undefined ? undefined : mountOf(mounts, under);
  const shown =
    within === undefined ? mounts.map((mount) => ({ mount, prefix: mount.uri })) : [{ mount: within, prefix: under ?? within.uri }];
  return (
    <div className="sp-stack">
      <DoneNotice>
        {fact && (
          <Link className="sp-link" to="/secrets/one" search={{ uri: fact.uri }}>
            {visibleText(fact.said)}
          </Link>
        )}
      </DoneNotice>
      <div className="sp-filters" role="search" aria-label={words.common.filters}>
        <TextInput
          data-filter=""
          label={text.find}
          placeholder={text.findPlaceholder}
          value={typed}
          maxLength={128}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            void navigate({ search: (before) => ({ ...before, q: event.currentTarget.value }), replace: true });
          }}
        />
        {under === undefined ? null : (
          <Button variant="default" onClick={() => void navigate({ search: (before) => ({ ...before, under: "" }), replace: true })}>
            {text.everywhere}
          </Button>
        )}
        {mounts.some(({ writable }) => writable) ? <Button onClick={() => open(true)}>{text.create}</Button> : null}
      </div>
      {shown.map(({ mount, prefix }) =>
        settled === "" ? <Place key={prefix} mount={mount} prefix={prefix} /> : <Found key={prefix} q={settled} prefix={prefix} />,
      )}
      {act === "write" ? (
        <Late>
          <WriteDialog
            mounts={mounts}
            uri={undefined}
            onDone={(done) => {
              setFact(done);
              open(false);
            }}
            onClose={() => open(false)}
          />
        </Late>
      ) : null}
    </div>
  );
};

/** Every place of the tenant with what lies there, and a search over all of them. */
export const SecretListPage = (): ReactElement => {
  const mounts = useQuery(mountsQuery(useClient()));
  return (
    <Page title={text.title} lead={text.lead}>
      <QueryView query={mounts} service="secrets" rows={6}>
        {(all) => <Places mounts={all} />}
      </QueryView>
    </Page>
  );
};
