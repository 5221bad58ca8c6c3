import type { Obligation } from "#contract/authzen.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { Sessions } from "#gateway/sessions/sessions.ts";

/** Ends the session that asked, if a decision obliges to that. True: it did. */
export type EndByDecision = (
  record: SessionRecord | undefined,
  obligations: readonly Obligation[],
  correlationId: string,
) => Promise<boolean>;

export const endsSession = (obligation: Obligation): boolean => obligation.type === "session_termination";

export const createEndByDecision =
  (sessions: Pick<Sessions, "end">): EndByDecision =>
  async (record, obligations, correlationId) => {
    if (record === undefined || !obligations.some(endsSession)) return false;
    await sessions.end({ tenant: record.tenant, subject: record.subject, ref: record.ref }, "policy", correlationId);
    return true;
  };
