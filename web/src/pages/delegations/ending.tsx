import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative } from "../../strings/format.ts";
import { endingOf } from "./facts.ts";

/** In which time a delegation ends, or since when it is over. */
export const Ending = ({ delegation, now }: { readonly delegation: Delegation; readonly now: Date }): ReactElement => {
  const { at, isOver } = endingOf(delegation);
  if (at === null) return <>{isOver ? words.verdict.revoked : words.delegations.never}</>;
  const relative = formatRelative(at, now);
  return (
    <time className="sp-nowrap" dateTime={at} title={formatMoment(at)}>
      {isOver ? words.delegations.endedSince(relative) : relative}
    </time>
  );
};
