import { z } from "zod";
import { endpoint } from "#contract/endpoint.ts";
import { eventVersion } from "#contract/event-types.ts";
import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import { listSecretMetadata } from "#contract/secret-listings.ts";
import { listSecretAudit } from "#contract/secret-audit.ts";
import { secretsBase } from "#contract/secrets.ts";
import { actorKindOf } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { createStreamShare } from "#authn/callers/stream-share.ts";
import { logOf } from "#events/audit/leaf.ts";
import { readSecretActs, type SecretAct } from "#events/audit/secret-acts.ts";
import { createConfigWatch, rightKinds } from "#events/streams/config-watch.ts";
import { streamResponse } from "#events/streams/stream.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import type { Router } from "#http/serve.ts";
import { previousRefsOf } from "#secrets/config.ts";
import type { SecretsContext } from "#secrets/pipeline/secrets-context.ts";
import { secretOperations, type SecretOperation } from "#contract/secret-operations.ts";
import { readSecretQuery } from "./secret-request.ts";
import { formatPrefix, parseSecretPrefix, parseSecretUri } from "#secrets/model/secret-uri.ts";

export interface AuditParts extends SecretsContext {
  readonly router: Router<Caller>;
  readonly cursors: SealedCursors<string>;
  /** Ends the streams. */
  readonly stopping: AbortSignal;
}

/** Why what happened is not for the caller; else whether what happened to the platform's secrets is, too. */
interface Reader {
  readonly refusal: Problem | undefined;
  readonly seesPlatform: boolean;
}

const DEFAULT_LIMIT = 100;
const MAX_OPS = 20;
const IS_REFERENCE = /^sr1\./;
/** By operation, what is told of it; of what only looks nothing is. */
const ops: ReadonlyMap<string, string | undefined> = new Map(
  Object.values<SecretOperation>(secretOperations).map(({ op, event }) => [op, event?.type]),
);

/** The stream is no endpoint that answers JSON; its rules are those of one. */
const stream = endpoint("secrets", "GET", `${secretsBase}/events`, {
  reply: z.unknown(),
  auth: "bearer",
  agents: "never",
  scope: ["secrets.read_metadata"],
  decision: "secret/read_audit",
  summary: "Acts on secrets as they happen.",
});

/** The type of the event that tells of it, where there is one. */
const typeOf = (outcome: string, op: string): string => {
  const event = outcome === "denied" ? "secrets.denied" : ops.get(op);
  return event === undefined ? `secrets.${op}` : `${event}.${eventVersion}`;
};

/** Who did it, and what they said it was for, stand there as long as the person is not erased. */
const itemOf = (act: SecretAct, subjects: ReadonlyMap<string, string>, sealed: unknown) => ({
  audit_id: act.act_id,
  at: act.at,
  type: typeOf(act.outcome, String(act.data["op"])),
  data: {
    ...act.data,
    ...(isObject(sealed) ? sealed : {}),
    outcome: act.outcome,
    code: act.code ?? undefined,
    decision_id: act.decision_id ?? undefined,
    actor: { ...act.actor, subject_id: subjects.get(String(act.actor["subject_ref"])) },
    correlation_id: act.correlation_id,
  },
});

const unsalted = (name: string): Problem =>
  new Problem("unprocessable", {
    errors: [{ path: `query.${name}`, message: "cannot be looked for: TENANT_SALT is unset, and records name no secret" }],
  });

const readOps = (url: URL): ReadonlySet<string> | undefined => {
  for (const name of url.searchParams.keys())
    if (name !== "op" && name !== "prefix" && name !== "last_event_id")
      throw new Problem("query_unknown", { errors: [{ path: `query.${name}`, message: "is not known here" }] });
  const wanted = url.searchParams.getAll("op");
  if (wanted.length > MAX_OPS || !wanted.every((op) => ops.has(op)))
    throw new Problem("unprocessable", {
      errors: [{ path: "query.op", message: `must be at most ${MAX_OPS} of ${[...ops.keys()].join(", ")}` }],
    });
  return wanted.length === 0 ? undefined : new Set(wanted);
};

/**
 * What happened to secrets: as the audit log holds it, and as it happens. Both are the tenant's and both name secrets by their
 * reference, so they are decided for all places of the tenant (`secret/read_audit`).
 */
export const serveAudit = (parts: AuditParts): void => {
  const { router, policy, pdpClient, database, resourceRef } = parts;
  const { references } = parts.recorder;
  const previousRefs = previousRefsOf(parts.config);
  const hasStream = parts.config.eventsStream ?? parts.environment !== "production";
  const rightChanges = createConfigWatch({ bus: parts.bus, kinds: rightKinds, log: parts.log });

  /**
   * Asked of each place that the tenant has: the log holds what happened at any of them. Who may not read of the platform's places is told
   * of the others. Throws `tenant_required`, `tenant_mismatch`, `tenant_mount`.
   */
  const lookAtReader = async (caller: Caller, correlationId: string, isBackground: boolean): Promise<Reader> => {
    const context = { caller_kind: actorKindOf(caller), ...(isBackground ? { background: true } : {}) };
    const places = policy.narrow(caller.tenant, undefined);
    const asks = places.map((place) => ({
      type: "secret",
      action: "read_audit",
      id: formatPrefix(place),
      properties: {
        tenant: caller.tenant,
        scheme: place.scheme,
        mount: place.mount,
        path: place.segments.join("/"),
        whole_map: true,
        platform: policy.isPlatform(place),
      },
      context,
    }));
    const answers = await pdpClient.decideMany(caller, asks, correlationId);
    if (answers.length !== asks.length)
      return { refusal: new Problem("decision_unavailable", { cause: "fewer answers than questions" }), seesPlatform: false };
    const refusals = answers.map((decided) => pdpClient.refusal(caller, decided));
    const own = refusals.filter((_refusal, at) => places[at] !== undefined && !policy.isPlatform(places[at]));
    const refusal = (own.length > 0 ? own : refusals).find((one) => one !== undefined);
    return { refusal, seesPlatform: refusals.every((one) => one === undefined) && own.length < refusals.length };
  };
  const requireReader = async (caller: Caller, correlationId: string): Promise<Reader> => {
    const reader = await lookAtReader(caller, correlationId, false);
    if (reader.refusal !== undefined) throw reader.refusal;
    return reader;
  };

  const refsOf = (caller: Caller, query: { readonly uri?: string | undefined; readonly resource_ref?: string | undefined }) => {
    const refs = query.resource_ref === undefined ? undefined : [query.resource_ref];
    if (query.uri === undefined) return refs;
    const ref = policy.guard(caller.tenant, parseSecretUri(query.uri, policy.schemes));
    if (resourceRef === undefined) throw unsalted("uri");
    const own = [resourceRef, ...previousRefs].map((refOf) => refOf(caller.tenant, ref));
    return refs === undefined ? own : own.filter((one) => refs.includes(one));
  };

  /** Opens what acts of these persons hold sealed; nothing of somebody who is erased, or of an entry that was altered. */
  const openSealed = async (log: string, subjects: ReadonlyMap<string, string>): Promise<(act: SecretAct) => unknown> => {
    const known = await references.resolve(database, log, new Set(subjects.values()), { remember: true });
    return ({ actor, entry_id: entryId, sealed }) => {
      const subject = subjects.get(String(actor["subject_ref"])) ?? "";
      const reference = known.get(subject);
      if (sealed === null || reference === undefined) return undefined;
      try {
        return references.unseal(log, subject, reference, entryId, sealed);
      } catch {
        return undefined;
      }
    };
  };

  router.serve(listSecretAudit, async ({ query, caller, correlationId }) => {
    const { seesPlatform } = await requireReader(caller, correlationId);
    const log = logOf(caller.tenant);
    const { cursor, limit = DEFAULT_LIMIT, ...wanted } = query;
    const bound = [caller.tenant, caller.sub, wanted];
    const before = cursor === undefined ? undefined : BigInt(parts.cursors.open(cursor, bound));
    const { actor } = query;
    // Whoever has no reference has done nothing.
    const subjectRef = actor === undefined || IS_REFERENCE.test(actor) ? actor : ((await references.find(database, log, actor)) ?? "none");
    const filter = { ...wanted, subjectRef, resourceRefs: refsOf(caller, query), seesPlatform };
    const acts = await readSecretActs(database, log, filter, before, limit + 1);
    const page = acts.slice(0, limit);
    const last = page.at(-1);
    const refs = new Set(page.map((act) => String(act.actor["subject_ref"])));
    const subjects = await references.subjectsOf(database, log, [...refs]);
    const open = await openSealed(log, subjects);
    return {
      items: page.map((act) => itemOf(act, subjects, open(act))),
      ...(acts.length > limit && last !== undefined ? { next_cursor: parts.cursors.seal(String(last.seq), bound) } : {}),
      source: "log" as const,
      dropped: 0 as const,
    };
  });

  /** References of the places below which it happened; once each, percent-decoded as every query of this service is. */
  const readPlaces = (caller: Caller, url: URL): ReadonlySet<string> | undefined => {
    const given = url.search
      .slice(1)
      .split("&")
      .filter((part) => part.startsWith("prefix="));
    if (given.length === 0) return undefined;
    if (given.length > 1) throw new Problem("query_repeated", { errors: [{ path: "query.prefix", message: "is given twice" }] });
    const { prefix } = readSecretQuery(new URL(`${url.origin}${url.pathname}?${given[0]}`), listSecretMetadata);
    const places = policy.narrow(caller.tenant, parseSecretPrefix(prefix ?? "", policy.schemes));
    if (resourceRef === undefined) throw unsalted("prefix");
    return new Set(places.map((place) => resourceRef(caller.tenant, place)));
  };

  const share = createStreamShare();
  router.raw("GET", stream.path, async (request) => {
    if (!hasStream) throw new Problem("not_found");
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    const caller = await parts.authenticate(request, stream);
    const url = new URL(request.url);
    const wanted = readOps(url);
    const places = readPlaces(caller, url);
    let reader = await requireReader(caller, correlationId);
    const ended = share.claim(caller);
    try {
      return await streamResponse({
        bus: parts.bus,
        stream: "secret",
        tenant: caller.tenant,
        subject: caller.sub,
        seesAll: true,
        lastEventId: request.headers.get("last-event-id") ?? url.searchParams.get("last_event_id") ?? undefined,
        only: ({ data: { op, platform, places: at } }) =>
          (platform !== true || reader.seesPlatform) &&
          (wanted?.has(String(op)) ?? true) &&
          (places === undefined || (Array.isArray(at) && at.some((one) => places.has(String(one))))),
        present: async ({ data: { places: _places, platform: _platform, ...shown } }) => shown,
        signal: AbortSignal.any([request.signal, parts.stopping]),
        recheck: async () => {
          reader = await lookAtReader(caller, correlationId, true);
          return reader.refusal === undefined;
        },
        rightChanges,
        reload: [listSecretAudit.path],
        ended,
      });
    } catch (error) {
      ended();
      throw error;
    }
  });
};
