import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative } from "../../strings/format.ts";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { useClock } from "../../ui/timers.ts";
import { Who } from "../../ui/who.tsx";
import { endingOf } from "./facts.ts";

/** Who, to whom, since when, until when. */
export const DelegationFacts = ({ delegation }: { readonly delegation: Delegation }): ReactElement => {
  const now = useClock(30_000);
  const { at, isOver } = endingOf(delegation);
  return (
    <FactList>
      <TextFact name={words.delegations.id} text={delegation.delegation_id} isCode />
      <Fact name={words.delegations.from}>
        <Who id={delegation.delegator_id} name={delegation.delegator_name} />
      </Fact>
      <Fact name={words.delegations.to}>
        <Who id={delegation.agent_id} name={delegation.agent_name} />
      </Fact>
      <Fact name={words.delegations.created}>
        {formatMoment(delegation.created_at)} {words.delegations.by} <Foreign text={delegation.created_by} isCode />
      </Fact>
      {isOver ? null : (
        <Fact name={words.delegations.ends}>
          {delegation.expires_at === null ? (
            words.delegations.never
          ) : (
            <time dateTime={delegation.expires_at}>
              {formatMoment(delegation.expires_at)} {words.common.aside(formatRelative(delegation.expires_at, now))}
            </time>
          )}
        </Fact>
      )}
      {isOver && delegation.expires_at !== null && delegation.expires_at !== at ? (
        <Fact name={words.delegations.wouldHaveEnded}>{formatMoment(delegation.expires_at)}</Fact>
      ) : null}
      {delegation.hold === undefined ? null : (
        <Fact name={words.delegations.hold}>{words.delegations.holds[delegation.hold] ?? delegation.hold}</Fact>
      )}
      {!isOver || at === null ? null : (
        <Fact name={words.delegations.ended}>
          <time dateTime={at}>
            {formatMoment(at)} {words.common.aside(formatRelative(at, now))}
          </time>
          {delegation.end_reason === undefined ? null : (
            <>
              {": "}
              <Foreign text={delegation.end_reason} />
            </>
          )}
        </Fact>
      )}
    </FactList>
  );
};
