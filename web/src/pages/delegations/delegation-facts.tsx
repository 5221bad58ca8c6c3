import type { ReactElement } from "react";
import type { Delegation } from "#contract/delegations.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative } from "../../strings/format.ts";
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
    <dl className="sp-facts">
      <dt>{words.delegations.from}</dt>
      <dd>
        <Who id={delegation.delegator_id} name={delegation.delegator_name} />
      </dd>
      <dt>{words.delegations.to}</dt>
      <dd>
        <Who id={delegation.agent_id} name={delegation.agent_name} />
      </dd>
      <dt>{words.delegations.created}</dt>
      <dd>
        {formatMoment(delegation.created_at)} {words.delegations.by} <Foreign text={delegation.created_by} isCode />
      </dd>
      <dt>{words.delegations.ends}</dt>
      <dd>
        {delegation.expires_at === null ? (
          words.delegations.never
        ) : (
          <time dateTime={delegation.expires_at}>
            {formatMoment(delegation.expires_at)} {words.common.aside(formatRelative(delegation.expires_at, now))}
          </time>
        )}
      </dd>
      {delegation.hold === undefined ? null : (
        <>
          <dt>{words.delegations.hold}</dt>
          <dd>{words.delegations.holds[delegation.hold] ?? delegation.hold}</dd>
        </>
      )}
      {delegation.ended_at === undefined ? null : (
        <>
          <dt>{words.delegations.ended}</dt>
          <dd>
            {formatMoment(delegation.ended_at)}
            {delegation.end_reason === undefined ? null : (
              <>
                {": "}
                <Foreign text={delegation.end_reason} />
              </>
            )}
          </dd>
        </>
      )}
    </dl>
  );
};
