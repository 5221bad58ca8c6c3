import { Problem } from "#contract/problem.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { Change, Changed } from "#events/changes/change.ts";
import type { Log } from "#telemetry/log.ts";
import type { EndReason, SessionRecord } from "./session-store.ts";

/** The browser behind a session: in the audit log it is readable only with its subject's key. */
export interface BrowserClient {
  readonly userAgent: string;
  readonly address: string;
}

export interface SessionRecords {
  /** Throws `audit_unavailable` when the sign-in cannot be recorded: then there is none. `isStepUp`: it takes the place of a weaker session. */
  signedIn(record: SessionRecord, client: BrowserClient, correlationId: string, isStepUp?: boolean): Promise<void>;
  /** The provider vouched for a session again. No act of a person, so other systems hear of it and the audit log does not. Never throws. */
  refreshed(record: SessionRecord): Promise<void>;
  /** Never throws: an end is not held up by its record. `by`: whose session ended them, when it was somebody else. */
  ended(records: readonly SessionRecord[], reason: EndReason, correlationId: string, by?: SessionRecord): Promise<void>;
  /** A sign-in that did not succeed; the subject is unknown. Never throws. */
  failed(code: string, client: BrowserClient, correlationId: string): Promise<void>;
}

const actorOf = (record: SessionRecord) => ({
  subject: record.subject,
  kind: "person" as const,
  session_ref: record.ref,
  amr: [...record.amr],
  acr: record.acr,
});

/** What all entries about sessions have in common; without a name the session is one that never began. */
const signInEntry = (tenant: string, ref?: string): Pick<EntryDraft, "tenant" | "category" | "via" | "resource"> => ({
  tenant,
  category: "sign_in",
  via: { service: "gateway" },
  resource: { type: "session", id: ref },
});

const sealedOf = ({ address, userAgent }: BrowserClient) => ({ ip: address, user_agent: userAgent });

/** Audit entries and events of sign-in and sign-out. */
export const createSessionRecords = (parts: { readonly change: Change; readonly log: Log }): SessionRecords => {
  const tell = (said: Omit<Changed<void>, "result">): Promise<void> => parts.change(async () => ({ result: undefined, ...said }));
  return {
    signedIn: async (record, client, correlationId, isStepUp = false) => {
      const { tenant, ref, issuer, acr, amr } = record;
      const entry: EntryDraft = {
        ...signInEntry(tenant, ref),
        outcome: "ok",
        actor: actorOf(record),
        correlationId,
        data: { event: isStepUp ? "step_up" : "in", issuer, session_ref: ref, amr: [...amr], acr },
        sealed: sealedOf(client),
      };
      await tell({ entries: [entry] }).catch((cause: unknown) => {
        throw new Problem("audit_unavailable", { cause, headers: { "retry-after": "5" } });
      });
    },
    refreshed: async (record) => {
      const { tenant, ref, issuer, acr, amr } = record;
      const data = { op: "refreshed", session_ref: ref, issuer, acr, amr: [...amr] };
      const work = tell({ events: [{ type: "session.refreshed", tenant, key: ref, data }] });
      await work.catch((cause: unknown) => parts.log.warn("session_refresh_not_told", { session_ref: ref, cause }));
    },
    ended: async (records, reason, correlationId, by) => {
      if (records.length === 0) return;
      const event = reason === "logout" || reason === "everywhere" ? "out" : "ended";
      const work = tell({
        entries: records.map((record) => ({
          ...signInEntry(record.tenant, record.ref),
          outcome: "ok",
          actor: actorOf(by ?? record),
          correlationId,
          data: { event, session_ref: record.ref, reason, subject: by === undefined ? undefined : record.subject },
        })),
        events: records.map((record) => ({
          type: "session.ended",
          tenant: record.tenant,
          stream: "config",
          kind: "session",
          key: record.ref,
          visibleTo: [record.subject],
          data: { op: "ended", session_ref: record.ref, reason },
          correlationId,
        })),
      });
      await work.catch((cause: unknown) => parts.log.warn("session_end_not_recorded", { reason, correlation_id: correlationId, cause }));
    },
    failed: async (code, client, correlationId) => {
      const entry: EntryDraft = {
        ...signInEntry("*"),
        outcome: "refused",
        code,
        actor: { subject: "service:gateway", kind: "system" },
        correlationId,
        data: { event: "failed", reason: code },
        sealed: sealedOf(client),
      };
      const work = tell({ entries: [entry] });
      await work.catch((cause: unknown) => parts.log.warn("sign_in_failure_not_recorded", { code, correlation_id: correlationId, cause }));
    },
  };
};
