import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ToolDescriptor } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import type { ReadSystem } from "../../api/systems.ts";
import { toolListQuery } from "../../api/tools.ts";
import { visibleText } from "../../strings/format.ts";
import { systemWords } from "../../strings/systems.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { ToolLink } from "../../ui/links.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Rows } from "../../ui/rows.tsx";
import { TryIt } from "../tools/try-it.tsx";
import { toolsOf } from "./tools-of.ts";

const route = getRouteApi("/systems/$name");
const text = systemWords.test;

const TestCall = ({
  tool,
  isListed,
  onClose,
}: {
  readonly tool: ToolDescriptor;
  readonly isListed: boolean;
  readonly onClose: () => void;
}): ReactElement => (
  <div className="sp-stack">
    <div className="sp-notice" data-tone={isListed ? "allow" : undefined} role="status">
      {text.of(visibleText(tool.name))}
      <Button variant="default" onClick={onClose}>
        {text.close}
      </Button>
      {isListed ? null : (
        <>
          <span>{text.unseen}</span>
          <Link className="sp-link" to="/tools/$name" params={{ name: tool.name }}>
            {text.explain}
          </Link>
        </>
      )}
    </div>
    <TryIt key={tool.name} tool={tool} />
  </div>
);

/** The tools of a system, and a real call of one as the signed-in person. */
export const ToolsPanel = ({ system }: { readonly system: ReadSystem }): ReactElement => {
  const { tool: name } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(toolListQuery(useClient()));
  const open = (tool: string): void => void navigate({ search: (before) => ({ ...before, tool }), replace: true });
  return (
    <>
      <Panel title={text.title}>
        <QueryView query={query} service="crud">
          {({ tools: listed }) => {
            const rows = toolsOf(system, listed);
            if (rows.length === 0) return <p className="sp-dim">{text.none}</p>;
            return (
              <div className="sp-stack">
                <p className="sp-dim">{text.lead}</p>
                <Rows
                  caption={text.title}
                  rows={rows}
                  keyOf={({ tool }) => tool.name}
                  columns={[
                    { key: "name", title: systemWords.importing.tool, cell: ({ tool }) => <ToolLink name={tool.name} /> },
                    {
                      key: "description",
                      title: systemWords.heading,
                      wraps: true,
                      cell: ({ tool }) => <Foreign text={tool.title ?? tool.description} />,
                    },
                    {
                      key: "test",
                      title: text.go,
                      cell: ({ tool }) => (
                        <Button variant="default" size="compact-xs" aria-label={text.of(tool.name)} onClick={() => open(tool.name)}>
                          {text.go}
                        </Button>
                      ),
                    },
                  ]}
                />
              </div>
            );
          }}
        </QueryView>
      </Panel>
      {toolsOf(system, query.data?.tools ?? [])
        .filter(({ tool }) => tool.name === name)
        .map(({ tool, isListed }) => (
          <TestCall key={tool.name} tool={tool} isListed={isListed} onClose={() => open("")} />
        ))}
    </>
  );
};
