import type { EventDraft } from "#events/model/event-draft.ts";
import type { EntryActor, EntryDraft } from "#events/audit/entry.ts";
import type { ResourceRef } from "#events/model/resource-ref.ts";
import type { SecretRequester } from "./requester.ts";
import type { SecretOperation } from "#contract/secret-operations.ts";
import type { Intent } from "#secrets/providers/secret-provider.ts";
import type { SecretUri } from "#secrets/model/secret-uri.ts";
import { secretStores } from "#contract/secret-schemes.ts";
import type { SecretsPolicy } from "#secrets/config.ts";
import type { SecretsContext } from "./secrets-context.ts";

/** What one operation is, for its records: no path, no key, no value, no stated purpose. */
export interface RecordedOperation {
  readonly operation: SecretOperation;
  readonly requester: SecretRequester;
  readonly uri: SecretUri;
  readonly isPlatform?: boolean;
  readonly provider: string;
  readonly correlationId: string;
  readonly decisionId?: string;
  /** What somebody said that they want the value for: sealed in the audit log, and told nowhere. */
  readonly statedPurpose?: string;
  readonly policyVersion?: string;
  readonly cas?: number;
}

const actorOf = ({ caller, kind, tool }: SecretRequester): EntryActor => ({
  subject: caller.sub,
  kind: kind === "workload" ? "service" : kind,
  agent_id: caller.agent,
  delegation_id: tool?.delegation_id,
  client_id: caller.clientId,
  acr: caller.acr,
  amr: caller.amr,
});

/** The searchable name of the secret; none without a salt, and none where no tenant is known. */
export const refOf = ({ requester, uri }: RecordedOperation, resourceRef: ResourceRef | undefined): string | undefined =>
  resourceRef === undefined || requester.tenant === "*" ? undefined : resourceRef(requester.tenant, uri);

const about = (recorded: RecordedOperation, ref: string | undefined) => ({
  op: recorded.operation.op,
  purpose: recorded.requester.purpose,
  provider: recorded.provider,
  resource_ref: ref,
  fragment_present: recorded.uri.key !== undefined,
  versions: recorded.uri.version === undefined ? [] : [recorded.uri.version],
  policy_version: recorded.policyVersion,
  cas: recorded.cas,
  cached: false,
  // For those alone who may read what happened to the platform's secrets.
  ...(recorded.isPlatform === true ? { platform: true } : {}),
});

/** The audit entry of an operation, but for its outcome. */
export const entryOf = (recorded: RecordedOperation, resourceRef: ResourceRef | undefined): Omit<EntryDraft, "outcome"> => {
  const ref = refOf(recorded, resourceRef);
  const { tool } = recorded.requester;
  return {
    tenant: recorded.requester.tenant,
    category: "secret",
    actor: actorOf(recorded.requester),
    via: { service: "secrets" },
    resource: { type: "secret", ref },
    decisionId: recorded.decisionId,
    correlationId: recorded.correlationId,
    ...(recorded.statedPurpose === undefined ? {} : { sealed: { stated_purpose: recorded.statedPurpose } }),
    data: {
      ...about(recorded, ref),
      ...(tool === undefined ? {} : { tool_id: tool.id, call_id: tool.call_id }),
    },
  };
};

/** Versions that an act made or marked, else the one that it read. */
export const versionsOf = (intent: Intent | undefined, result: unknown): { readonly versions?: readonly number[] } => {
  if (intent !== undefined) return intent.versions === undefined ? {} : { versions: intent.versions };
  const { version } = (result ?? {}) as { readonly version?: unknown };
  return typeof version === "number" ? { versions: [version] } : {};
};

/** The audit log's code of an act that did nothing. */
export const NOT_DONE = "not_done";

/** Event types of an act: that of its operation, and that of what was done to its store. */
export const eventTypesOf = (
  { event }: Pick<SecretOperation, "event">,
  { scheme }: SecretUri,
  wanted: Intent["wanted"] | undefined,
): readonly string[] =>
  [event, wanted === undefined || wanted === "written" ? undefined : secretStores[scheme].events[wanted]].flatMap((one) =>
    one === undefined ? [] : [one.type],
  );

/** References of a secret's path and of every place above it, so that a stream finds what lies below one of them. */
const placeRefs = (resourceRef: ResourceRef, tenant: string, { scheme, mount, segments }: SecretUri): readonly string[] =>
  [...segments, ""].map((_segment, length) => resourceRef(tenant, { scheme, mount, segments: segments.slice(0, length) }));

/** The event that tells of it. Persons stand in the audit log only, by reference. */
export const eventOf = (
  recorded: RecordedOperation,
  resourceRef: ResourceRef | undefined,
  end: { readonly type: string; readonly outcome: string; readonly durationMs: number; readonly code?: string; readonly reported?: object },
): EventDraft => {
  const ref = refOf(recorded, resourceRef);
  const { requester, uri } = recorded;
  return {
    type: end.type,
    tenant: requester.tenant,
    stream: "secret",
    kind: `${end.type}.v1`,
    key: ref ?? requester.tenant,
    data: {
      ...about(recorded, ref),
      ...end.reported,
      // In Sallyport alone: the type that leaves it does not declare them.
      places: ref === undefined || resourceRef === undefined ? undefined : placeRefs(resourceRef, requester.tenant, uri),
      outcome: end.outcome,
      code: end.code,
      decision_id: recorded.decisionId,
      actor: {
        kind: requester.kind,
        ...(requester.kind === "workload" || requester.kind === "service" ? { id: requester.caller.sub } : {}),
        agent_id: requester.caller.agent,
        ...(requester.tool === undefined ? {} : { tool_id: requester.tool.id }),
        delegation_id: requester.tool?.delegation_id,
      },
      correlation_id: recorded.correlationId,
      duration_ms: end.durationMs,
    },
    correlationId: recorded.correlationId,
  };
};

/** With what acts are ended that another process began. */
export interface SettleParts extends Pick<SecretsContext, "providers" | "changes" | "change" | "resourceRef" | "log"> {
  readonly policy: Pick<SecretsPolicy, "schemes" | "isPlatform">;
}
/** An act that another process began, for somebody. */
export interface LeftAct {
  readonly id: string;
  readonly tenant: string;
  readonly subject: string | null;
  readonly decision_id: string | null;
  readonly correlation_id: string | null;
}
export interface LeftEnd {
  readonly outcome: "ok" | "refused" | "unknown";
  readonly code?: string | undefined;
  /** What it was to do to a store, to which versions. */
  readonly wanted: Intent["wanted"];
  readonly versions: readonly number[];
}

/** Record and event of an act whose end Sallyport found out for a process that died: its own, on behalf of whoever had asked for it. */
export const settledAct = (
  left: LeftAct,
  operation: Pick<SecretOperation, "op" | "purposes" | "event">,
  uri: SecretUri,
  named: "move_id" | "intent_id",
  { outcome, code, wanted, versions }: LeftEnd,
  { resourceRef, policy }: Pick<SettleParts, "resourceRef" | "policy">,
): { readonly entries: readonly EntryDraft[]; readonly events: readonly EventDraft[] } => {
  const ref = resourceRef?.(left.tenant, uri);
  const correlationId = left.correlation_id ?? left.id;
  const isPlatform = policy.isPlatform(uri);
  const { tenant } = left;
  const decisionId = left.decision_id ?? undefined;
  const data = {
    op: operation.op,
    purpose: operation.purposes[0],
    provider: uri.scheme,
    resource_ref: ref,
    fragment_present: uri.key !== undefined,
    versions: outcome === "refused" ? [] : versions,
    cached: false,
    ...(isPlatform ? { platform: true } : {}),
  };
  const entry: EntryDraft = {
    tenant,
    category: "secret",
    outcome,
    code,
    actor: { subject: "service:secrets", kind: "system" },
    via: { service: "secrets" },
    resource: { type: "secret", ref },
    decisionId,
    correlationId,
    data: { ...data, [named]: left.id, on_behalf_of: left.subject ?? undefined },
  };
  if (outcome !== "ok") return { entries: [entry], events: [] };
  const actor = { kind: "service", id: "service:secrets" };
  const places = ref === undefined || resourceRef === undefined ? undefined : placeRefs(resourceRef, tenant, uri);
  const reported = { ...data, places, outcome, decision_id: decisionId, actor, correlation_id: correlationId, duration_ms: 0 };
  return {
    entries: [entry],
    events: eventTypesOf(operation, uri, wanted).map((type) => ({
      type,
      tenant,
      stream: "secret",
      kind: `${type}.v1`,
      key: ref ?? tenant,
      data: reported,
      correlationId,
    })),
  };
};
