import type { EntryDraft } from "#events/audit/entry.ts";

/** Who did something here, and in which call: a person or service by request, or Sallyport itself. */
export interface ActActor {
  readonly subject: string;
  readonly kind: EntryDraft["actor"]["kind"];
  readonly clientId?: string;
  readonly acr?: string;
  readonly correlationId: string;
}

/** Where time or other policies did it. */
export const instanceActor = (correlationId: string): ActActor => ({ subject: "service:pdp", kind: "system", correlationId });

/** The same as an audit entry has it. */
export const entryActor = ({ subject, kind, clientId, acr }: ActActor): EntryDraft["actor"] => ({
  subject,
  kind,
  client_id: clientId,
  acr,
});
