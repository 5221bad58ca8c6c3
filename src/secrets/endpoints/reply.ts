import type { Performed } from "#secrets/pipeline/pipeline.ts";
import type { CachedRead } from "#secrets/operations/value-cache.ts";
import type { ReadSecret, WrittenSecret } from "#secrets/providers/secret-provider.ts";
import { SecretValue, wireOf } from "#secrets/model/secret-value.ts";

/** How long a workload may keep a value, by tenant, URI and version, in memory. */
const WORKLOAD_KEEP_SECONDS = 30;

/** The value leaves here, and only here. */
const shown = (read: ReadSecret): unknown => wireOf(SecretValue.reveal(read.value));

export const plainReply = (done: Performed<ReadSecret>) => ({ uri: done.ref.canonical, value: shown(done.result) });

export const valueReply = (done: Performed<CachedRead>) => ({
  uri: done.ref.canonical,
  value: shown(done.result),
  version: done.result.version,
  created_time: done.result.createdTime,
  cached: done.result.cached,
  audit_id: done.auditId,
  keep_seconds: done.requester.purpose === "execute" ? WORKLOAD_KEEP_SECONDS : 0,
});

export const writeReply = (done: Performed<WrittenSecret>) => ({
  uri: done.ref.canonical,
  provider: done.provider,
  version: done.result.version,
  created_time: done.result.createdTime,
  created: done.result.created,
  changed: done.result.changed,
  resource_ref: done.resourceRef,
});
