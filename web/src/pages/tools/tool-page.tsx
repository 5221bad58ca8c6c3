import { useQuery } from "@tanstack/react-query";
import { getRouteApi, lazyRouteComponent } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ToolDescriptor } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { toolListQuery } from "../../api/tools.ts";
import { words } from "../../strings/en.ts";
import { visibleText } from "../../strings/format.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Late } from "../../ui/late.tsx";
import { ToolFacts } from "./tool-facts.tsx";
import { TryIt } from "./try-it.tsx";

const NotMine = lazyRouteComponent(async () => await import("./not-mine.tsx"), "NotMine");
const ToolStanding = lazyRouteComponent(async () => await import("./tool-standing.tsx"), "ToolStanding");

const route = getRouteApi("/tools/$name");

const Tool = ({ tool }: { readonly tool: ToolDescriptor }): ReactElement => (
  <div className="sp-split">
    <TryIt key={tool.name} tool={tool} />
    <ToolFacts tool={tool} />
  </div>
);

/** One tool: what it takes, what is claimed of it, and a real try as the signed-in person. */
export const ToolPage = (): ReactElement => {
  const { name } = route.useParams();
  const query = useQuery(toolListQuery(useClient()));
  const tool = query.data?.tools.find((candidate) => candidate.name === name);
  return (
    <Page
      title={visibleText(tool?.title ?? name)}
      lead={tool === undefined ? undefined : visibleText(tool.description)}
      actions={<CopyButton label={words.common.copyLink} text={() => location.href} />}
    >
      <QueryView query={query} service="crud" rows={6}>
        {() =>
          tool === undefined ? (
            <Late>
              <NotMine key={name} tool={name} />
            </Late>
          ) : (
            <Tool tool={tool} />
          )
        }
      </QueryView>
      <Late>
        <ToolStanding key={name} tool={name} />
      </Late>
    </Page>
  );
};
