import { useEffect, useRef } from "react";

/** What has come in the meantime is read together. */
const SETTLE_MS = 1_000;

/** Calls `run` once for all calls within a second. */
export const useSettled = (run: () => void): (() => void) => {
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => () => clearTimeout(waiting.current), []);
  return () => {
    waiting.current ??= setTimeout(() => {
      waiting.current = undefined;
      latest.current();
    }, SETTLE_MS);
  };
};
