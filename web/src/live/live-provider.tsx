import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState, type ReactElement, type ReactNode } from "react";
import { useCan } from "../decisions/use-can.ts";
import { createListeners } from "../model/listeners.ts";
import { useSessionStore } from "../session/session-context.ts";
import { LiveContext } from "./live-context.ts";
import { createLiveMeters, readMeter, type LiveMeters } from "./live-meters.ts";
import { createRereader, oldBy } from "./reread.ts";
import { createSharedStream } from "./shared-stream.ts";
import { browser, type Stream, type StreamEvent, type StreamParts, type StreamState } from "./stream.ts";

const CONFIG = "/api/v1/events/config";
const WORKFLOW = "/api/v1/events/workflow";
const CONFIG_KINDS = ["delegation", "budget", "policy", "graph", "tools", "config", "session"] as const;
/** What the workflow stream has besides control frames, which are its default messages. */
const WORKFLOW_KINDS = ["workflow", "task", "access_request"] as const;
const HIDDEN_MS = 30_000;

const take = (event: StreamEvent, meters: LiveMeters, recheck: () => void): void => {
  if (event.kind === "budget") {
    const read = readMeter(event.data, new Date());
    if (read !== undefined) meters.set(read.delegationId, read.meter);
  }
  if (event.kind === "session") recheck();
};

type Held = Pick<StreamParts, "path" | "kinds" | "onEvent" | "onGap" | "onSessionDoubt" | "onState">;

/** Holds a stream for as long as somebody looks. The returned function ends it. */
const hold = (parts: Held): Pick<Stream, "retryNow"> & { readonly end: () => void } => {
  const stream = createSharedStream({ ...parts, ...browser });
  let hiding: ReturnType<typeof setTimeout> | undefined;
  const onVisibility = (): void => {
    clearTimeout(hiding);
    if (document.visibilityState === "visible") stream.start();
    else hiding = setTimeout(() => stream.stop(), HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", onVisibility);
  onVisibility();
  return {
    retryNow: stream.retryNow,
    end: () => {
      document.removeEventListener("visibilitychange", onVisibility);
      clearTimeout(hiding);
      stream.close();
    },
  };
};

/** Holds the streams of this browser open while it may and somebody looks, and has what changed read again. */
export const LiveProvider = ({ children }: { readonly children: ReactNode }): ReactElement => {
  const queries = useQueryClient();
  const session = useSessionStore();
  const seesConfig = useCan({ type: "streams", action: "config", key: "nav:stream" }) === "allowed";
  const seesWorkflow = useCan({ type: "streams", action: "workflow", key: "nav:workflow-stream" }) === "allowed";
  const [state, setState] = useState<StreamState>({ phase: "stopped" });
  const [meters] = useState(createLiveMeters);
  const [runs] = useState(createListeners<StreamEvent | undefined>);
  const stream = useRef<Pick<Stream, "retryNow"> | undefined>(undefined);
  const reread = useMemo(() => createRereader(queries), [queries]);

  useEffect(() => {
    if (!seesConfig) return undefined;
    const recheck = (): void => void session.recheck();
    const held = hold({
      path: CONFIG,
      kinds: CONFIG_KINDS,
      onEvent: (event) => {
        take(event, meters, recheck);
        reread(oldBy(event));
      },
      onGap: () => {
        meters.clear();
        void queries.invalidateQueries();
      },
      onSessionDoubt: recheck,
      onState: setState,
    });
    stream.current = held;
    return () => {
      held.end();
      stream.current = undefined;
    };
  }, [seesConfig, queries, session, meters, reread]);

  useEffect(() => {
    if (!seesWorkflow) return undefined;
    const held = hold({
      path: WORKFLOW,
      kinds: WORKFLOW_KINDS,
      onEvent: (event) => {
        reread(oldBy(event));
        runs.tell(event);
      },
      onGap: () => {
        reread(["workflows", "tasks", "requests", "waiting"]);
        runs.tell(undefined);
      },
      // The stream of configuration looks after the session, and shows how it stands.
      onSessionDoubt: () => undefined,
      onState: () => undefined,
    });
    return held.end;
  }, [seesWorkflow, reread, runs]);

  const live = useMemo(
    () => ({ state, meters, subscribeRuns: runs.subscribe, retryNow: () => stream.current?.retryNow() }),
    [state, meters, runs],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
};
