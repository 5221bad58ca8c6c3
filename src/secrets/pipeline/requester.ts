import { getDecision, permitsCall, type DecisionRecord } from "#contract/decisions.ts";
import { ask } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import { boundDecisionPoint } from "#pdp-client/bounded-decision-point.ts";
import type { SecretsContext } from "./secrets-context.ts";
import type { SecretOperation, Purpose } from "#contract/secret-operations.ts";

/** The tool call that a workload reads for, out of its headers. */
export interface CallBehind {
  readonly id: string;
  readonly decision_id: string;
  readonly call_id?: string;
  readonly delegation_id?: string;
}

/** Who asks, in the words of this service. */
export interface SecretRequester {
  readonly kind: "workload" | "agent" | "person" | "service";
  readonly caller: Caller;
  readonly purpose: Purpose;
  /** The tenant whose secrets are meant. */
  readonly tenant: string;
  readonly tool?: CallBehind;
}

/** What somebody is known by: the wish, and the request that it came with. */
interface Recognised {
  readonly operation: SecretOperation;
  readonly caller: Caller;
  readonly headers: Headers;
  /** Of `?purpose=`. */
  readonly wanted?: "read" | "execute";
  readonly correlationId: string;
}

const headerId = /^[A-Za-z0-9._:@+~-]{1,200}$/;

const kindOf = (caller: Caller, workloads: ReadonlySet<string>): SecretRequester["kind"] => {
  if (caller.isInternalService && workloads.has(caller.sub)) return "workload";
  // Of what is somebody's own nothing that speaks for them is shown more than an agent is, be it a service.
  return caller.actors.length > 0 ? "agent" : actorKindOf(caller);
};

/** A refusal in the form of the API's 403: which argument, which purpose, and no more. */
export const refuseSecret = (
  argument: string,
  purpose: Purpose,
  more: { readonly decision_id?: string; readonly resource_ref?: string; readonly reason?: string; readonly remedy?: string } = {},
): Problem =>
  new Problem("secret_authz_failed", {
    members: { decision_id: more.decision_id, details: { failures: [{ argument, purpose, code: "access_denied", ...more }] } },
  });

const readToolCall = (headers: Headers): CallBehind => {
  const read = (name: string): string | undefined => {
    const value = headers.get(name) ?? undefined;
    if (value !== undefined && !headerId.test(value)) throw refuseSecret(name, "execute");
    return value;
  };
  const [id, decisionId, callId, delegationId] = ["x-tool-id", "x-decision-id", "x-call-id", "x-delegation-id"].map(read);
  if (id === undefined) throw refuseSecret("x-tool-id", "execute");
  if (decisionId === undefined) throw refuseSecret("x-decision-id", "execute");
  return { id, decision_id: decisionId, call_id: callId, delegation_id: delegationId };
};

/**
 * Makes an caller of a caller. A workload has no tenant of its own: it has that of the decision which permitted the tool
 * call it names, and which is looked up here. Throws `secret_authz_failed` (403), `decision_unavailable` (503).
 */
export const createRequesters = (parts: Pick<SecretsContext, "policy" | "identity" | "peers" | "pdpTimeoutMs" | "audiences" | "now">) => {
  const pdp = boundDecisionPoint(parts.peers.pdp, parts.pdpTimeoutMs);

  const findDecision = async (id: string, correlationId: string): Promise<DecisionRecord | undefined> => {
    const token = await parts.identity.asService(parts.audiences.pdp, ["pdp.decisions.read"]);
    try {
      return await ask(pdp, getDecision, {
        params: { id },
        query: {},
        headers: { authorization: `Bearer ${token}`, "x-correlation-id": correlationId },
      });
    } catch (cause) {
      if (cause instanceof Problem && cause.status === 404) return undefined;
      throw new Problem("decision_unavailable", { cause });
    }
  };

  const tenantOfCall = async (tool: CallBehind, by: string, correlationId: string): Promise<string> => {
    const record = await findDecision(tool.decision_id, correlationId);
    const isPermit = record !== undefined && permitsCall(record, { tool: tool.id, by }, parts.now());
    if (!isPermit || record.tenant === undefined || record.tenant === "*")
      throw refuseSecret("x-decision-id", "execute", { decision_id: tool.decision_id });
    return record.tenant;
  };

  return async ({ operation, caller, headers, wanted, correlationId }: Recognised): Promise<SecretRequester> => {
    const kind = kindOf(caller, parts.policy.workloads);
    const [plain, forWorkload] = operation.purposes;
    const purpose = kind === "workload" && wanted !== "read" ? (forWorkload ?? plain) : plain;
    if (wanted === "execute" && purpose !== "execute") throw refuseSecret("purpose", "execute");
    // A workload that reads for no call, such as a notification, names the tenant: what it may read there is decided.
    const tenant = kind === "workload" && purpose === "read" ? (headers.get("x-tenant-id") ?? caller.tenant) : caller.tenant;
    if (purpose !== "execute") return { kind, caller, purpose, tenant };
    const tool = readToolCall(headers);
    return { kind, caller, purpose, tenant: await tenantOfCall(tool, caller.sub, correlationId), tool };
  };
};
