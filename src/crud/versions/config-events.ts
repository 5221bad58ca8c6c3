import type { ConfigDiff } from "#contract/configs.ts";
import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import { etagOf, type StoredVersion } from "./version-store.ts";

/** Who changes configuration: somebody by request, or Sallyport itself. */
export interface Writer {
  readonly subject: string;
  readonly tenant: string;
  readonly kind: EntryDraft["actor"]["kind"];
  /** As versions name it, where that is not the subject. */
  readonly author?: string;
  readonly clientId?: string | undefined;
  readonly acr?: string | undefined;
  readonly decisionId?: string | undefined;
  readonly correlationId: string;
}

/** Who publishes by request. */
export interface Publisher extends Writer {
  /** Whether they may publish what starts these servers on the machine. Throws `step_up_required`. */
  readonly requireReach: (stdioServers: readonly string[]) => void;
}

/** Who asks for something, and by which request. */
export interface Asked {
  readonly caller: Caller;
  readonly correlationId: string;
}

export const instanceWriter = (correlationId: string): Writer => ({
  subject: "service:crud",
  tenant: "*",
  kind: "system",
  author: "file",
  correlationId,
});

export const writerOf = (caller: Caller, correlationId: string, decisionId: string): Writer => ({
  subject: caller.sub,
  kind: actorKindOf(caller),
  tenant: caller.tenant,
  clientId: caller.clientId,
  acr: caller.acr,
  correlationId,
  decisionId,
});

export type ConfigOp = "created" | "updated" | "deleted" | "rolled_back" | "taken" | "degraded" | "repaired";

export const configEntry = (
  by: Writer,
  op: ConfigOp | "approved" | "rejected" | "killed" | "lifted",
  about: { readonly kind: string; readonly name: string },
  data: Readonly<Record<string, unknown>>,
): EntryDraft => ({
  tenant: by.tenant,
  category: "config",
  outcome: "ok",
  actor: { subject: by.subject, kind: by.kind, client_id: by.clientId, acr: by.acr },
  via: { service: "crud" },
  resource: { type: about.kind, id: about.name },
  decisionId: by.decisionId,
  correlationId: by.correlationId,
  data: { op, ...data },
});

const MAX_NAMES = 50;

/** `config.<op>` for the streams of all tenants that the object serves, or served before. */
export const configEvents = (
  by: Writer,
  op: ConfigOp,
  version: Pick<StoredVersion, "kind" | "name" | "version" | "digest" | "tenants"> & {
    /** The entity tag of a tenant that sees a part. */
    readonly tagFor?: (tenant: string) => string | undefined;
  },
  before: readonly string[] | null,
  all: readonly string[],
  diff?: ConfigDiff,
): EventDraft[] => {
  const { kind, name: id, tenants } = version;
  const named = (names: readonly string[] = []): readonly string[] => names.slice(0, MAX_NAMES);
  const affects = {
    added: named(diff?.tools_added),
    removed: named(diff?.tools_removed),
    changed: named(diff?.tools_changed.map(({ name }) => name)),
  };
  return [...new Set([...(tenants ?? all), ...(before ?? all)])].map((tenant) => ({
    type: `config.${op === "created" || op === "updated" ? "published" : op}`,
    tenant,
    stream: "config",
    kind: "config",
    key: `${kind}/${id}`,
    // Whose files Sallyport took nobody knows; whom another tenant's reference stands for nobody here can ask.
    by: tenant === by.tenant ? by.subject : undefined,
    data: {
      kind,
      id,
      name: id,
      version: version.version,
      etag: version.tagFor?.(tenant) ?? etagOf(version),
      op,
      state: op === "degraded" ? "degraded" : "ok",
      affects: tenant === by.tenant ? affects : { added: [], removed: [], changed: [] },
    },
    correlationId: by.correlationId,
  }));
};
