import type { ReactElement } from "react";
import { useSession } from "../../session/session-context.ts";
import { words } from "../../strings/en.ts";
import { formatMoment, formatRelative } from "../../strings/format.ts";
import { Chip } from "../../ui/chip.tsx";
import { Fact, FactList, TextFact } from "../../ui/fact-list.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useClock } from "../../ui/timers.ts";

const Assurance = ({ acr }: { readonly acr: string | undefined }): ReactElement => {
  if (acr === "phishing_resistant") return <Chip tone="allow" icon="key" text={words.home.phishingResistant} />;
  if (acr === "strong") return <Chip tone="allow" icon="key" text={words.home.strong} />;
  return <Chip tone="quiet" icon="person" text={words.home.basic} />;
};

/** The signed-in person, as Sallyport knows them. */
export const WhoPanel = (): ReactElement => {
  const session = useSession();
  const now = useClock(30_000);
  const since = session.authTime === undefined ? undefined : new Date(session.authTime * 1000).toISOString();
  return (
    <Panel title={words.home.whoTitle}>
      <FactList>
        <TextFact name={words.home.id} text={session.subject.id} isCode />
        <TextFact name={words.home.tenant} text={session.tenant} isCode />
        <Fact name={words.home.assurance}>
          <Assurance acr={session.acr} />
          {since === undefined ? null : (
            <span className="sp-small sp-dim">
              {" "}
              {words.home.since} <time dateTime={since}>{formatRelative(since, now)}</time>
            </span>
          )}
        </Fact>
        {session.expiresAt === undefined ? null : (
          <Fact name={words.home.expires}>
            <time dateTime={session.expiresAt} title={formatMoment(session.expiresAt)}>
              {formatRelative(session.expiresAt, now)}
            </time>
          </Fact>
        )}
      </FactList>
    </Panel>
  );
};
