import { useEffect, useRef } from "react";
import { useCan } from "../decisions/use-can.ts";
import { browser, createStream } from "./stream.ts";

const PATH = "/api/v1/events/activity";
/** What has come in the meantime is read together. */
const SETTLE_MS = 1_000;

/**
 * Calls `onGrown` when something was put on record that this person may see: at most once a second, and only while the page is looked
 * at. Whether it can tell: without the right to the stream, or where it is switched off, nothing does.
 */
export const useActivity = (isOn: boolean, onGrown: () => void): boolean => {
  const isAllowed = useCan({ type: "streams", action: "activity" }) === "allowed";
  const latest = useRef(onGrown);
  latest.current = onGrown;
  useEffect(() => {
    if (!isAllowed || !isOn) return undefined;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const grown = (): void => {
      waiting ??= setTimeout(() => {
        waiting = undefined;
        latest.current();
      }, SETTLE_MS);
    };
    const stream = createStream({
      path: PATH,
      kinds: ["activity"],
      ...browser,
      onEvent: grown,
      onGap: grown,
      // The stream of changes looks after the session.
      onSessionDoubt: () => undefined,
      onState: () => undefined,
    });
    const follow = (): void => (document.visibilityState === "visible" ? stream.start() : stream.stop());
    document.addEventListener("visibilitychange", follow);
    follow();
    return () => {
      document.removeEventListener("visibilitychange", follow);
      clearTimeout(waiting);
      stream.stop();
    };
  }, [isAllowed, isOn]);
  return isAllowed;
};
