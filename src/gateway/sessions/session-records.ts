import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/change.ts";
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

const via = { service: "gateway" } as const;

/** Audit entries and events of sign-in and sign-out. */
export const createSessionRecords = (parts: { readonly change: Change; readonly log: Log }): SessionRecords => ({
  signedIn: async (record, client, correlationId, isStepUp = false) => {
    const work = parts.change(async () => ({
      result: undefined,
      entries: [
        {
          tenant: record.tenant,
          category: "sign_in",
          outcome: "ok",
          actor: actorOf(record),
          via,
          resource: { type: "session", id: record.ref },
          correlationId,
          data: {
            event: isStepUp ? "step_up" : "in",
            issuer: record.issuer,
            session_ref: record.ref,
            amr: [...record.amr],
            acr: record.acr,
          },
          sealed: { ip: client.address, user_agent: client.userAgent },
        },
      ],
    }));
    await work.catch((cause: unknown) => {
      throw new Problem("audit_unavailable", { cause, headers: { "retry-after": "5" } });
    });
  },
  refreshed: async (record) => {
    const { tenant, ref, issuer, acr, amr } = record;
    const data = { op: "refreshed", session_ref: ref, issuer, acr, amr: [...amr] };
    const work = parts.change(async () => ({ result: undefined, events: [{ type: "session.refreshed", tenant, key: ref, data }] }));
    await work.catch((cause: unknown) => parts.log.warn("session_refresh_not_told", { session_ref: ref, cause }));
  },
  ended: async (records, reason, correlationId, by) => {
    if (records.length === 0) return;
    const work = parts.change(async () => ({
      result: undefined,
      entries: records.map((record) => ({
        tenant: record.tenant,
        category: "sign_in" as const,
        outcome: "ok" as const,
        actor: actorOf(by ?? record),
        via,
        resource: { type: "session", id: record.ref },
        correlationId,
        data: {
          event: reason === "logout" || reason === "everywhere" ? "out" : "ended",
          session_ref: record.ref,
          reason,
          subject: by === undefined ? undefined : record.subject,
        },
      })),
      events: records.map((record) => ({
        type: "session.ended",
        tenant: record.tenant,
        stream: "config" as const,
        kind: "session",
        key: record.ref,
        visibleTo: [record.subject],
        data: { op: "ended", session_ref: record.ref, reason },
        correlationId,
      })),
    }));
    await work.catch((cause: unknown) => parts.log.warn("session_end_not_recorded", { reason, correlation_id: correlationId, cause }));
  },
  failed: async (code, client, correlationId) => {
    const work = parts.change(async () => ({
      result: undefined,
      entries: [
        {
          tenant: "*",
          category: "sign_in" as const,
          outcome: "refused" as const,
          code,
          actor: { subject: "service:gateway", kind: "system" as const },
          via,
          resource: { type: "session" },
          correlationId,
          data: { event: "failed", reason: code },
          sealed: { ip: client.address, user_agent: client.userAgent },
        },
      ],
    }));
    await work.catch((cause: unknown) => parts.log.warn("sign_in_failure_not_recorded", { code, correlation_id: correlationId, cause }));
  },
});
