import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ToolDescriptor } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { toolListQuery } from "../../api/tools.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import { visibleText } from "../../strings/format.ts";
import { Status } from "../../ui/chip.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { ListPage } from "../../ui/list-page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { MissingTool } from "./missing-tool.tsx";
import { facetOf, filterTools, isReadOnly, systemOf, tagsOf, tokensOf } from "./tool-filter.ts";

const route = getRouteApi("/tools");

const columns: readonly Column<ToolDescriptor>[] = [
  {
    key: "tool",
    title: toolWords.tool,
    wraps: true,
    cell: ({ name, title, description }) => (
      <div>
        <Link className="sp-link" to="/tools/$name" params={{ name }}>
          {visibleText(title ?? name)}
        </Link>{" "}
        {title === undefined ? null : <Foreign text={name} isCode />}
        <div className="sp-small sp-dim">{visibleText(description)}</div>
      </div>
    ),
  },
  {
    key: "effect",
    title: toolWords.effect,
    cell: (tool) =>
      isReadOnly(tool) ? (
        <Status tone="allow" icon="read" text={toolWords.read} />
      ) : (
        <Status tone="run" icon="write" text={toolWords.write} />
      ),
  },
  { key: "from", title: toolWords.provider, cell: (tool) => visibleText(systemOf(tool) || tool.source) },
  { key: "env", title: toolWords.env, cell: (tool) => visibleText(tool.metadata?.env ?? "") },
  {
    key: "tags",
    title: toolWords.tags,
    cell: (tool) => (
      <span className="sp-actions">
        {tagsOf(tool).map((tag) => (
          <span key={tag} className="sp-tag">
            {visibleText(tag)}
          </span>
        ))}
      </span>
    ),
  },
];

/** Tools that I may use, and why something is not among them. */
export const ToolListPage = (): ReactElement => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(toolListQuery(useClient()));
  const tools = query.data?.tools ?? [];
  const { explain, ...filter } = search;
  const shown = filterTools(tools, filter);
  const set = (more: Partial<typeof search>): void => void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  return (
    <>
      <ListPage
        title={toolWords.title}
        filters={
          <FilterBar
            label={toolWords.search}
            placeholder={toolWords.searchPlaceholder}
            text={search.q ?? ""}
            facets={[
              {
                key: "provider",
                name: toolWords.provider,
                value: search.provider,
                counts: facetOf(tools, (tool) => [systemOf(tool)]),
              },
              { key: "source", name: toolWords.source, value: search.source, counts: facetOf(tools, (tool) => [tool.source]) },
              { key: "tag", name: toolWords.tag, value: search.tag, counts: facetOf(tools, tagsOf) },
            ]}
            onChange={set}
          />
        }
        foot={query.data && words.common.facts(toolWords.shown(shown.length, tools.length), toolWords.tokens(tokensOf(shown)))}
      >
        <QueryView query={query} service="crud" rows={8}>
          {() =>
            tools.length === 0 ? (
              <Empty text={toolWords.empty} />
            ) : shown.length === 0 ? (
              <Empty text={toolWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
            ) : (
              <Rows caption={toolWords.title} columns={columns} rows={shown} keyOf={(tool) => tool.name} />
            )
          }
        </QueryView>
      </ListPage>
      <MissingTool asked={explain} onAsk={(name) => set({ explain: name })} />
    </>
  );
};
