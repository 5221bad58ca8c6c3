import { ask } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { readSecretValue } from "#contract/secrets.ts";
import type { AuthorizedCall } from "./check-chain.ts";
import { MIN_ANYWHERE } from "#crud/tools/redact.ts";
import type { Held } from "./reserve-budget.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";

type SecretParts = Pick<CallParts, "secrets" | "secretsAudience" | "identity"> & {
  /** Ends with the call: a secrets service that does not answer holds it no longer. */
  readonly signal: AbortSignal;
};

const issueOf = (error: unknown): UpstreamError => {
  const isAway = !(error instanceof Problem) || error.status >= 500;
  const problem = isAway ? new Problem("secrets_unavailable", { cause: error }) : new Problem("upstream_auth_failed", { cause: error });
  return new UpstreamError(problem, "not_sent", { isFinal: true });
};

/** The credentials of one call: read by reference as this service, for this call alone, kept only while it runs. */
export const createSecretReader = ({ call, tool, permit }: AuthorizedCall, held: Held | undefined, parts: SecretParts) => {
  const reads = new Map<string, Promise<string>>();
  const values: string[] = [...(call.concealed ?? [])];
  const used: { audit_id: string; version: number | undefined }[] = [];
  const read = async (uri: string): Promise<string> => {
    const token = await parts.identity.asService(parts.secretsAudience, ["secrets.read"]);
    const answer = await ask(parts.secrets, readSecretValue, {
      query: { uri },
      signal: parts.signal,
      headers: {
        authorization: `Bearer ${token}`,
        "x-correlation-id": call.correlationId,
        "x-call-id": call.callId,
        "x-tool-id": tool.name,
        "x-decision-id": permit.decisionId,
        ...(held === undefined ? {} : { "x-delegation-id": held.delegationId }),
      },
    });
    if (typeof answer.value !== "string" || answer.value === "")
      throw new Problem("upstream_auth_failed", { detail: "The credential is no text." });
    // Of a shorter one its connector says whether it is to be taken out: it may be a name, and a word of everyday text.
    if (answer.value.length >= MIN_ANYWHERE) values.push(answer.value);
    used.push({ audit_id: answer.audit_id, version: answer.version });
    return answer.value;
  };
  return {
    read: (uri: string): Promise<string> => {
      const running = reads.get(uri) ?? read(uri).catch((error: unknown) => Promise.reject(issueOf(error)));
      reads.set(uri, running);
      return running;
    },
    /** One that was had in another way, or is short. */
    conceal: (value: string): void => void values.push(value),
    /** What is to be taken out of whatever comes back. */
    values: (): readonly string[] => values,
    /** What the record may say of them: version, never the value or the path. */
    used: () => used,
  };
};
