import { Button, CloseButton } from "@mantine/core";
import { useSyncExternalStore, type ReactElement } from "react";
import { useIsAnyUnknown } from "../decisions/use-can.ts";
import { useLive } from "../live/live-context.ts";
import { words } from "../strings/en.ts";
import { formatClock } from "../strings/format.ts";
import { Icon } from "../ui/icon.tsx";
import { useDelayed } from "../ui/timers.ts";
import { useIsOnline } from "../ui/use-online.ts";
import { droppedParameters } from "./search.ts";

/** What the whole page has to say: no network, no live updates, permissions that cannot be checked, a mended address. */
export const Notices = (): ReactElement => {
  const { state, retryNow } = useLive();
  const isDown = useDelayed(state.phase === "down", 10_000);
  const isOnline = useIsOnline();
  const cannotCheck = useIsAnyUnknown();
  const dropped = useSyncExternalStore(droppedParameters.subscribe, droppedParameters.names);
  return (
    <div role="status">
      {isOnline ? null : (
        <div className="sp-notice">
          <Icon name="warning" />
          {words.shell.offline}
        </div>
      )}
      {isDown && state.phase === "down" ? (
        <div className="sp-notice">
          <Icon name="clock" />
          {words.shell.liveStopped(formatClock(state.since))}
          <Button variant="default" size="compact-xs" onClick={retryNow}>
            {words.shell.retryNow}
          </Button>
        </div>
      ) : null}
      {cannotCheck ? (
        <div className="sp-notice">
          <Icon name="question" />
          {words.shell.cannotCheck}
        </div>
      ) : null}
      {dropped === "" ? null : (
        <div className="sp-notice">
          <Icon name="warning" />
          {words.common.droppedParameters(dropped)}
          <CloseButton size="xs" aria-label={words.common.close} onClick={droppedParameters.clear} />
        </div>
      )}
    </div>
  );
};
