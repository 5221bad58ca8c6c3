import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState, type ReactElement, type ReactNode } from "react";
import { useCan } from "../decisions/use-can.ts";
import { useSessionStore } from "../session/session-context.ts";
import { LiveContext } from "./live-context.ts";
import { createLiveMeters, readMeter, type LiveMeters } from "./live-meters.ts";
import { createRereader, touched } from "./reread.ts";
import { browser, createStream, type Stream, type StreamEvent, type StreamState } from "./stream.ts";

const PATH = "/api/v1/events/config";
const KINDS = ["delegation", "budget", "policy", "graph", "tools", "config", "session"] as const;
const HIDDEN_MS = 30_000;

const take = (event: StreamEvent, meters: LiveMeters, reread: (names: readonly string[]) => void, recheck: () => void): void => {
  if (event.kind === "budget") {
    const read = readMeter(event.data, new Date());
    if (read !== undefined) meters.set(read.delegationId, read.meter);
  }
  if (event.kind === "session") recheck();
  reread(touched[event.kind] ?? []);
};

/** Holds the one stream of this page open while it may and somebody looks, and has what changed read again. */
export const LiveProvider = ({ children }: { readonly children: ReactNode }): ReactElement => {
  const queries = useQueryClient();
  const session = useSessionStore();
  const can = useCan({ type: "streams", action: "config", key: "nav:stream" });
  const isAllowed = can === "allowed";
  const [state, setState] = useState<StreamState>({ phase: "stopped" });
  const [meters] = useState(createLiveMeters);
  const stream = useRef<Stream | undefined>(undefined);

  useEffect(() => {
    if (!isAllowed) return undefined;
    const reread = createRereader(queries);
    const recheck = (): void => void session.recheck();
    const held = createStream({
      path: PATH,
      kinds: KINDS,
      ...browser,
      onEvent: (event) => take(event, meters, reread, recheck),
      onGap: () => {
        meters.clear();
        void queries.invalidateQueries();
      },
      onSessionDoubt: recheck,
      onState: setState,
    });
    stream.current = held;
    let hiding: ReturnType<typeof setTimeout> | undefined;
    const onVisibility = (): void => {
      clearTimeout(hiding);
      if (document.visibilityState === "visible") held.start();
      else hiding = setTimeout(() => held.stop(), HIDDEN_MS);
    };
    document.addEventListener("visibilitychange", onVisibility);
    onVisibility();
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      clearTimeout(hiding);
      held.stop();
      stream.current = undefined;
    };
  }, [isAllowed, queries, session, meters]);

  const live = useMemo(() => ({ state, meters, retryNow: () => stream.current?.retryNow() }), [state, meters]);
  return <LiveContext value={live}>{children}</LiveContext>;
};
