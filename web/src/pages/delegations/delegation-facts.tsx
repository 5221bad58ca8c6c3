import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { delegationWords } from "../../strings/delegations.ts";
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
      <TextFact name={delegationWords.id} text={delegation.delegation_id} isCode />
      <Fact name={delegationWords.from}>
        <Who id={delegation.delegator_id} name={delegation.delegator_name} />
      </Fact>
      <Fact name={delegationWords.to}>
        <Who id={delegation.agent_id} name={delegation.agent_name} />
      </Fact>
      <Fact name={delegationWords.created}>
        {formatMoment(delegation.created_at)} {delegationWords.by} <Foreign text={delegation.created_by} isCode />
      </Fact>
      {isOver ? null : (
        <Fact name={delegationWords.ends}>
          {delegation.expires_at === null ? (
            delegationWords.never
          ) : (
            <time dateTime={delegation.expires_at}>
              {formatMoment(delegation.expires_at)} {words.common.aside(formatRelative(delegation.expires_at, now))}
            </time>
          )}
        </Fact>
      )}
      {isOver && delegation.expires_at !== null && delegation.expires_at !== at ? (
        <Fact name={delegationWords.wouldHaveEnded}>{formatMoment(delegation.expires_at)}</Fact>
      ) : null}
      {delegation.hold === undefined ? null : (
        <Fact name={delegationWords.hold}>{delegationWords.holds[delegation.hold] ?? delegation.hold}</Fact>
      )}
      {!isOver || at === null ? null : (
        <Fact name={delegationWords.ended}>
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
