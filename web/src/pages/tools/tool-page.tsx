import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, lazyRouteComponent } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { explainTool, type ToolDescriptor } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { toolListQuery } from "../../api/tools.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useScreens } from "../../shell/use-screen.ts";
import { toolWords } from "../../strings/tools.ts";
import { visibleText } from "../../strings/format.ts";
import { DetailPage } from "../../ui/detail-page.tsx";
import { Late } from "../../ui/late.tsx";
import { DoneNotice } from "../../ui/page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { SchemaPanel, ToolFacts } from "./tool-facts.tsx";

const NotMine = lazyRouteComponent(async () => await import("./not-mine.tsx"), "NotMine");
const TryIt = lazyRouteComponent(async () => await import("./try-it.tsx"), "TryIt");
const standing = async () => await import("./tool-standing.tsx");
const ToolActs = lazyRouteComponent(standing, "ToolActs");
const ToolChips = lazyRouteComponent(standing, "ToolChips");
const ToolStanding = lazyRouteComponent(standing, "ToolStanding");
const ToolAccess = lazyRouteComponent(standing, "ToolAccess");

const route = getRouteApi("/tools/$name");

const tryIt = (tool: ToolDescriptor): ReactElement => (
  <Late>
    <TryIt key={tool.name} tool={tool} />
  </Late>
);

/** One tool: how it is now, and a real try as the signed-in person. */
export const ToolPage = (): ReactElement => {
  const { name } = route.useParams();
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const maySystems = useScreens().systems === "allowed";
  const query = useQuery(toolListQuery(useClient()));
  // Refused for a tool that this person may not know of: then its own facts are not there.
  const about = useQuery({ ...useEndpoint(explainTool).query({ query: { tool: name } }), retry: false }).data?.about;
  const [done, setDone] = useState<string>();
  const tool = query.data?.tools.find((candidate) => candidate.name === name);
  const system = about?.system;
  const setTab = (id: string): void => void navigate({ search: { tab: id === "try" ? "try" : undefined }, replace: true });
  const overview = (
    <QueryView query={query} service="crud" rows={6}>
      {() => (
        <>
          {tool === undefined ? (
            <Late>
              <NotMine key={name} tool={name} />
            </Late>
          ) : null}
          {about === undefined ? null : (
            <Late>
              <ToolAccess tool={name} about={about} />
            </Late>
          )}
          {tool === undefined ? null : <SchemaPanel tool={tool} />}
        </>
      )}
    </QueryView>
  );
  return (
    <DetailPage
      title={visibleText(tool?.title ?? name)}
      id={name}
      line={tool && visibleText(tool.description)}
      parent={
        system !== undefined && maySystems
          ? { name: visibleText(system), link: { to: "/systems/$name", params: { name: system } } }
          : undefined
      }
      status={
        about && (
          <Late>
            <ToolChips about={about} />
          </Late>
        )
      }
      acts={
        <>
          {about && (
            <Late>
              <ToolActs tool={name} about={about} onDone={setDone} />
            </Late>
          )}
          {tool === undefined || tab === "try" ? null : <Button onClick={() => setTab("try")}>{toolWords.tryTitle}</Button>}
        </>
      }
      note={<DoneNotice>{done}</DoneNotice>}
      tabs={[
        { id: "overview", name: toolWords.overview, content: overview },
        ...(tool === undefined ? [] : [{ id: "try", name: toolWords.tryTitle, content: tryIt(tool) }]),
      ]}
      tab={tab}
      onTab={setTab}
      aside={
        tool === undefined && about === undefined ? undefined : (
          <>
            {about && (
              <Late>
                <ToolStanding tool={name} about={about} />
              </Late>
            )}
            {tool && <ToolFacts tool={tool} />}
          </>
        )
      }
    />
  );
};
