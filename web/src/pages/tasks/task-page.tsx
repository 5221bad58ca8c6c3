import { useQuery } from "@tanstack/react-query";
import { getRouteApi, lazyRouteComponent } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { readTask } from "#contract/tasks.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useWorkflowEvents } from "../../live/use-workflow-events.ts";
import { visibleText } from "../../strings/format.ts";
import { taskWords } from "../../strings/tasks.ts";
import { Late } from "../../ui/late.tsx";
import { DoneNotice, Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { TaskChip } from "./task-chip.tsx";
import { TaskList } from "./task-list.tsx";
import { TaskView } from "./task-view.tsx";

const DelegateDialog = lazyRouteComponent(async () => await import("./delegate-dialog.tsx"), "DelegateDialog");

const route = getRouteApi("/tasks/$id");

/** One task, beside the inbox on a wide screen. */
export const TaskPage = (): ReactElement => {
  const { id } = route.useParams();
  const { act, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(useEndpoint(readTask).query({ params: { id } }));
  const [done, setDone] = useState<string>();
  useWorkflowEvents();
  const open = (name: "delegate" | undefined): void => void navigate({ search: (before) => ({ ...before, act: name }), replace: true });
  return (
    <Page
      title={query.data === undefined ? taskWords.oneTitle : visibleText(query.data.title)}
      status={query.data && <TaskChip task={query.data} />}
    >
      <div className="sp-inbox">
        <div className="sp-beside">
          <TaskList search={search} chosen={id} />
        </div>
        <div className="sp-panel">
          <DoneNotice>{done}</DoneNotice>
          <QueryView query={query} service="crud" rows={6}>
            {(task) => (
              <>
                <TaskView key={id} task={task} onHandOver={() => open("delegate")} />
                {act === "delegate" && task.you_may ? (
                  <Late>
                    <DelegateDialog
                      task={task}
                      onClose={() => open(undefined)}
                      onDone={() => {
                        open(undefined);
                        setDone(taskWords.handed);
                      }}
                    />
                  </Late>
                ) : null}
              </>
            )}
          </QueryView>
        </div>
      </div>
    </Page>
  );
};
