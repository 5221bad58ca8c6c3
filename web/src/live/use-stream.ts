import { useEffect, useRef } from "react";
import { useCan } from "../decisions/use-can.ts";
import { browser, createStream, type StreamEvent } from "./stream.ts";

interface StreamUse {
  /** Of the pair `streams`. */
  readonly action: "activity" | "workflow";
  readonly path: string;
  readonly kinds: string;
  readonly isOn: boolean;
  readonly onEvent: (event: StreamEvent) => void;
  /** Events are missing: what is on screen is read again. */
  readonly onGap: () => void;
}

/**
 * Holds a stream open while the page is looked at. Answers whether it can: without the right to it, or where it is
 * switched off, nothing comes.
 */
export const useStream = ({ action, path, kinds, isOn, ...handlers }: StreamUse): boolean => {
  const isAllowed = useCan({ type: "streams", action }) === "allowed";
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    if (!isAllowed || !isOn) return undefined;
    const stream = createStream({
      path,
      kinds: kinds.split(" "),
      ...browser,
      onEvent: (event) => latest.current.onEvent(event),
      onGap: () => latest.current.onGap(),
      // The stream of changes looks after the session.
      onSessionDoubt: () => undefined,
      onState: () => undefined,
    });
    const follow = (): void => (document.visibilityState === "visible" ? stream.start() : stream.stop());
    document.addEventListener("visibilitychange", follow);
    follow();
    return () => {
      document.removeEventListener("visibilitychange", follow);
      stream.stop();
    };
  }, [isAllowed, isOn, path, kinds, action]);
  return isAllowed;
};
