import type { ReactElement } from "react";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative, visibleText } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useClock } from "../../ui/use-clock.ts";

const Assurance = ({ acr }: { readonly acr: string | undefined }): ReactElement => {
  if (acr === "phishing_resistant") return <Chip tone="allow" icon="key" text={words.home.phishingResistant} />;
  if (acr === "strong") return <Chip tone="allow" icon="key" text={words.home.strong} />;
  return <Chip tone="quiet" icon="person" text={words.home.basic} />;
};

/** The signed-in person, as the house knows them. */
export const WhoPanel = (): ReactElement => {
  const session = useSession();
  const now = useClock(30_000);
  const since = session.authTime === undefined ? undefined : new Date(session.authTime * 1000).toISOString();
  return (
    <Panel title={words.home.whoTitle}>
      <dl className="sp-facts">
        <dt>{words.home.id}</dt>
        <dd className="sp-mono">{visibleText(session.subject.id)}</dd>
        <dt>{words.home.tenant}</dt>
        <dd className="sp-mono">{visibleText(session.tenant)}</dd>
        <dt>{words.home.assurance}</dt>
        <dd>
          <Assurance acr={session.acr} />
          {since === undefined ? null : (
            <span className="sp-small sp-dim">
              {" "}
              {words.home.since} <time dateTime={since}>{formatRelative(since, now)}</time>
            </span>
          )}
        </dd>
        {session.expiresAt === undefined ? null : (
          <>
            <dt>{words.home.expires}</dt>
            <dd>
              <time dateTime={session.expiresAt} title={formatMoment(session.expiresAt)}>
                {formatRelative(session.expiresAt, now)}
              </time>
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
};
