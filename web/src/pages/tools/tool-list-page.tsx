import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement } from "react";
import type { ToolDescriptor } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { toolListQuery } from "../../api/tools.ts";
import { words } from "../../strings/en.ts";
import { toolWords } from "../../strings/tools.ts";
import { visibleText } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ToolLink } from "../../ui/links.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows, type Column } from "../../ui/rows.tsx";
import { MissingTool } from "./missing-tool.tsx";
import { facetOf, filterTools, systemOf, tagsOf, tokensOf } from "./tool-filter.ts";

const route = getRouteApi("/tools");
type Search = ReturnType<typeof route.useSearch>;

const columns: readonly Column<ToolDescriptor>[] = [
  { key: "name", title: toolWords.name, cell: (tool) => <ToolLink name={tool.name} /> },
  {
    key: "title",
    title: toolWords.tool,
    wraps: true,
    cell: (tool) => (
      <>
        {tool.title === undefined ? null : <div>{visibleText(tool.title)}</div>}
        <div className="sp-small sp-dim">{visibleText(tool.description)}</div>
      </>
    ),
  },
  { key: "from", title: toolWords.from, cell: (tool) => visibleText(systemOf(tool) || tool.source) },
  { key: "env", title: toolWords.env, cell: (tool) => visibleText(tool.metadata?.env ?? "") },
  {
    key: "tags",
    title: toolWords.tags,
    cell: (tool) => (
      <span className="sp-actions">
        {tagsOf(tool).map((tag) => (
          <Chip key={tag} tone="quiet" icon="tool" text={visibleText(tag)} />
        ))}
      </span>
    ),
  },
];

const Facet = ({
  label,
  value,
  values,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly values: readonly string[];
  readonly onChange: (value: string) => void;
}): ReactElement | null =>
  values.length < 2 && value === undefined ? null : (
    <NativeSelect
      label={label}
      value={value ?? ""}
      data={[{ value: "", label: words.common.all }, ...values.map((each) => ({ value: each, label: visibleText(each) }))]}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );

const Filters = ({ search, tools }: { readonly search: Search; readonly tools: readonly ToolDescriptor[] }): ReactElement => {
  const navigate = route.useNavigate();
  const [text, setText] = useState(search.q ?? "");
  useEffect(() => setText(search.q ?? ""), [search.q]);
  const set = (more: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  return (
    <div className="sp-filters" role="search" aria-label={words.common.filters}>
      <TextInput
        data-filter=""
        label={toolWords.search}
        placeholder={toolWords.searchPlaceholder}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          set({ q: event.currentTarget.value });
        }}
      />
      <Facet
        label={toolWords.provider}
        value={search.provider}
        values={facetOf(tools, (tool) => [systemOf(tool)])}
        onChange={(provider) => set({ provider })}
      />
      <Facet
        label={toolWords.source}
        value={search.source}
        values={facetOf(tools, (tool) => [tool.source])}
        onChange={(source) => set({ source })}
      />
      <Facet label={toolWords.tag} value={search.tag} values={facetOf(tools, tagsOf)} onChange={(tag) => set({ tag })} />
    </div>
  );
};

/** Tools that I may use, and why something is not among them. */
export const ToolListPage = (): ReactElement => {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(toolListQuery(useClient()));
  return (
    <Page title={toolWords.title} lead={toolWords.lead}>
      <QueryView query={query} service="crud" rows={8}>
        {({ tools }) => {
          const { explain: _explain, ...filter } = search;
          const shown = filterTools(tools, filter);
          return (
            <div className="sp-stack">
              <Filters search={search} tools={tools} />
              {tools.length === 0 ? (
                <Empty text={toolWords.empty} />
              ) : shown.length === 0 ? (
                <Empty text={toolWords.emptyFiltered} onClear={() => void navigate({ search: {} })} />
              ) : (
                <Rows caption={toolWords.title} columns={columns} rows={shown} keyOf={(tool) => tool.name} />
              )}
              <p className="sp-small sp-dim" role="status">
                {words.common.facts(toolWords.shown(shown.length, tools.length), toolWords.tokens(tokensOf(shown)))}
              </p>
            </div>
          );
        }}
      </QueryView>
      <MissingTool
        asked={search.explain}
        onAsk={(explain) => void navigate({ search: (before) => ({ ...before, explain }), replace: true })}
      />
    </Page>
  );
};
