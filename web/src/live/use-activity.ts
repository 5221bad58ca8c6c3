import { useSettled } from "./use-settled.ts";
import { useStream } from "./use-stream.ts";

/**
 * Calls `onGrown` when something was put on record that this person may see: at most once a second, and only while the page is looked
 * at. Whether it can tell: without the right to the stream, or where it is switched off, nothing does.
 */
export const useActivity = (isOn: boolean, onGrown: () => void): boolean => {
  const grown = useSettled(onGrown);
  return useStream({ action: "activity", path: "/api/v1/events/activity", kinds: "activity", isOn, onEvent: grown, onGap: grown });
};
