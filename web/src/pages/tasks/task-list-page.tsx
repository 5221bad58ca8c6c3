import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useWorkflowEvents } from "../../live/use-workflow-events.ts";
import { taskWords } from "../../strings/tasks.ts";
import { Page } from "../../ui/page.tsx";
import { TaskList } from "./task-list.tsx";

const route = getRouteApi("/tasks");

/** The inbox: what waits for people, and for this one. */
export const TaskListPage = (): ReactElement => {
  useWorkflowEvents();
  return (
    <Page title={taskWords.title}>
      <div className="sp-inbox">
        <TaskList search={route.useSearch()} />
        <div className="sp-panel sp-beside">
          <p className="sp-dim">{taskWords.choose}</p>
        </div>
      </div>
    </Page>
  );
};
