import { useEffect, useRef } from "react";
import { useLive } from "./live-context.ts";
import type { StreamEvent } from "./stream.ts";

/** Calls `onEvent` with what the workflow stream tells of one run, or of all. What is on screen is read again without it. */
export const useWorkflowEvents = (runId?: string, onEvent?: (event: StreamEvent) => void): void => {
  const { subscribeRuns } = useLive();
  const latest = useRef(onEvent);
  latest.current = onEvent;
  useEffect(
    () =>
      subscribeRuns((event) => {
        if (event !== undefined && (runId === undefined || event.data["run_id"] === runId)) latest.current?.(event);
      }),
    [subscribeRuns, runId],
  );
};
