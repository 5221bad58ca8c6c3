import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative } from "../../strings/format.ts";
import { Fact, FactList } from "../../ui/fact-list.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { useClock } from "../../ui/use-clock.ts";

const Who = ({ id, name }: { readonly id: string; readonly name: string | undefined }): ReactElement => (
  <>
    {name === undefined ? null : (
      <>
        <Foreign text={name} />{" "}
      </>
    )}
    <Foreign text={id} isCode />
  </>
);

/** Who, to whom, since when, until when. */
export const DelegationFacts = ({ delegation }: { readonly delegation: Delegation }): ReactElement => {
  const now = useClock(30_000);
  return (
    <FactList>
      <Fact name={words.delegations.from}>
        <Who id={delegation.delegator_id} name={delegation.delegator_name} />
      </Fact>
      <Fact name={words.delegations.to}>
        <Who id={delegation.agent_id} name={delegation.agent_name} />
      </Fact>
      <Fact name={words.delegations.created}>
        {formatMoment(delegation.created_at)} {words.delegations.by} <Foreign text={delegation.created_by} isCode />
      </Fact>
      <Fact name={words.delegations.ends}>
        {delegation.expires_at === null ? (
          words.delegations.never
        ) : (
          <time dateTime={delegation.expires_at}>
            {formatMoment(delegation.expires_at)} {words.common.aside(formatRelative(delegation.expires_at, now))}
          </time>
        )}
      </Fact>
      {delegation.hold === undefined ? null : (
        <Fact name={words.delegations.hold}>{words.delegations.holds[delegation.hold] ?? delegation.hold}</Fact>
      )}
      {delegation.ended_at === undefined ? null : (
        <Fact name={words.delegations.ended}>
          {formatMoment(delegation.ended_at)}
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
