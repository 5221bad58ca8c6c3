import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import type { Peer } from "#contract/ask.ts";
import type { Environment } from "#contract/setting.ts";
import type { Authenticate } from "#authn/callers/authenticate.ts";
import { bodyShareOf, type Caller } from "#authn/model/caller.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import { createMetricsReader } from "#authn/callers/metrics-reader.ts";
import type { Change } from "#events/changes/change.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { References } from "#events/audit/references.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import { withOwnPages } from "#http/ops-endpoints.ts";
import { createRouter } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import { boundDecisionPoint } from "#pdp-client/bounded-decision-point.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { createRequesters } from "./pipeline/requester.ts";
import { mountMarks } from "./model/allowed-mounts.ts";
import { previousRefsOf, readSecretsPolicy, resourceRefOf, type SecretsConfig } from "./config.ts";
import { createSecretDecision, requireDecided } from "./pipeline/authorize-secret.ts";
import { bulkSecrets } from "#contract/secret-acts.ts";
import { listSecretAudit } from "#contract/secret-audit.ts";
import { createChanges } from "./model/changes.ts";
import { createKeyedAnswers } from "./operations/keyed-answers.ts";
import { listSecretMetadata, listSecretMounts, searchSecrets } from "#contract/secret-listings.ts";
import { createIntents } from "./pipeline/intents.ts";
import { createMoveJournal } from "./operations/move-journal.ts";
import { settleMoves } from "./operations/move.ts";
import { secretOperations } from "#contract/secret-operations.ts";
import { createPendingAudits } from "./pipeline/pending-audits.ts";
import { createOperationPipeline, whoOf } from "./pipeline/pipeline.ts";
import type { SecretProvider } from "./providers/secret-provider.ts";
import { plainReply, valueReply } from "./endpoints/reply.ts";
import { parseSecretBody, readSecretQuery } from "./endpoints/secret-request.ts";
import { parseSecretUri, parseVersion, type SecretUri } from "./model/secret-uri.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { settleIntents } from "./pipeline/settle-intents.ts";
import { serveActs } from "./endpoints/serve-acts.ts";
import { serveAudit } from "./endpoints/serve-audit.ts";
import { serveListings } from "./endpoints/serve-listings.ts";
import type { Database } from "#store/database.ts";
import { startInterval } from "#http/interval.ts";
import { createSealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { InstanceSecrets } from "#authn/sealing/seal.ts";
import { anonymousOf } from "./endpoints/tokenless.ts";
import { createReadValue } from "./operations/value-cache.ts";
import { createValueReadLimit } from "./endpoints/value-read-limit.ts";

export interface SecretsParts {
  readonly config: SecretsConfig;
  /** The address of the store of each scheme that has one. */
  readonly stores?: ReadonlyMap<Scheme, string>;
  /** One a scheme at most; `createYamlProvider` makes that of the file. */
  readonly providers: readonly SecretProvider[];
  readonly authenticate: Authenticate;
  readonly identity: ServiceIdentity;
  readonly pdpClient: PdpClient;
  /** For the decision records that workloads name. */
  readonly peers: { readonly pdp: Peer };
  readonly audiences: { readonly pdp: string };
  /** For a whole answer about such a record. */
  readonly pdpTimeoutMs: number;
  readonly recorder: Recorder & { readonly references: Pick<References, "find" | "subjectsOf" | "resolve" | "unseal"> };
  readonly bus: LiveBus;
  /** For the journal of moves. */
  readonly database: Database;
  /** For the cursors of lists. */
  readonly secrets: InstanceSecrets;
  readonly change: Change;
  readonly publicOrigin: string;
  readonly environment: Environment;
  /** The operator's tenant, whose people reach what is the platform's; `undefined`: there is none yet. */
  readonly findOperator?: () => Promise<string | undefined>;
  /** Whether an address may read the metrics without a token; this machine always may. */
  readonly isScraperListed?: (address: string) => boolean;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing;
  readonly now: () => Date;
}

const VALUE_READS_A_MINUTE = 600;
const ofMany: ReadonlySet<string> = new Set(
  [bulkSecrets, searchSecrets, listSecretMounts, listSecretMetadata, listSecretAudit].map(({ path }) => path),
);
const SETTLE_EVERY_MS = 30_000;
/** Less than the gateway waits for the page that says how the service is. */
const LOOK_FOR_MS = 1000;

/** `Cache-Control: no-cache`: whoever asks so is not content with what was kept. */
const asksForFresh = (headers: Headers): boolean => /\bno-(?:cache|store)\b/i.test(headers.get("cache-control") ?? "");

/** The version that URI and parameter name together; only one may, or both the same. */
const withVersion = (uri: SecretUri, text: string | undefined): SecretUri => {
  if (text === undefined) return uri;
  const version = parseVersion(text, uri.scheme);
  if (uri.version !== undefined && uri.version !== version) throw new Problem("version_conflict");
  return Object.freeze({ ...uri, version, canonical: `${uri.id}?version=${version}` });
};

/** Throws `StartIssues` for settings that do not go together; `readSecretsPolicy` tells them before. */
export const createSecrets = async (parts: SecretsParts): Promise<Service> => {
  let operator: string | undefined;
  const { policy, mounts, issues } = readSecretsPolicy(parts.config, parts.environment, parts.stores, () => operator);
  if (issues.length > 0) throw new StartIssues(issues);
  if (!policy.hasMounts) parts.log.warn("secrets_without_mounts", { hint: "TENANT_ALLOWED_MOUNTS is empty: every secret is refused" });
  if (policy.anonymousTenant !== undefined) parts.log.warn("secrets_without_auth", { hint: "SECRETS_API_REQUIRE_AUTH is false" });
  if (!policy.enforceScopes) parts.log.warn("secrets_without_scopes", { hint: "SECRETS_ENFORCE_SCOPES is false" });

  const resourceRef = resourceRefOf(parts.config);
  const providers = new Map(parts.providers.flatMap((provider) => provider.schemes.map((scheme) => [scheme, provider] as const)));
  const journal = createMoveJournal(parts.database);
  const keepSeconds = parts.config.cacheSeconds;
  const changes = createChanges(parts.database, keepSeconds);
  const decide = createSecretDecision({ pdpClient: parts.pdpClient, resourceRef, changes });
  const intents = createIntents({ database: parts.database, secrets: parts.secrets });
  const readValue = createReadValue({ changes, keepSeconds, metrics: parts.metrics, now: parts.now });
  const audits = createPendingAudits();
  const perform = createOperationPipeline({
    policy,
    providers,
    recognise: createRequesters({
      policy,
      pdp: boundDecisionPoint(parts.peers.pdp, parts.pdpTimeoutMs),
      pdpAudience: parts.audiences.pdp,
      identity: parts.identity,
      now: parts.now,
    }),
    decide,
    limit: createValueReadLimit({ perMinute: VALUE_READS_A_MINUTE, now: parts.now }),
    recorder: parts.recorder,
    change: parts.change,
    tracing: parts.tracing,
    resourceRef,
    changes,
    intents,
    unclosed: audits.note,
    metrics: parts.metrics,
    log: parts.log,
  });

  const authenticate: Authenticate = async (request, endpoint) => {
    // Once there is one it is never another.
    operator ??= await parts.findOperator?.();
    return policy.anonymousTenant !== undefined && !request.headers.has("authorization")
      ? anonymousOf(request, policy.anonymousTenant, parts.now())
      : parts.authenticate(request, policy.enforceScopes ? endpoint : { ...endpoint, scope: [] });
  };
  const router = audits.marking(
    createRouter<Caller>({
      shareOf: bodyShareOf,
      tracing: parts.tracing,
      name: "secrets",
      // The scope is asked for inside the pipeline, after the tenant guard; the router asks for a valid token alone. What is about many
      // secrets, or none, needs a scope before it is looked at.
      authenticate: (request, endpoint) => authenticate(request, ofMany.has(endpoint.path) ? endpoint : { ...endpoint, scope: [] }),
      log: parts.log,
      validateReplies: parts.environment !== "production",
      readQuery: readSecretQuery,
      parseJson: parseSecretBody,
    }),
  );

  const answers = createKeyedAnswers({ database: parts.database, secrets: parts.secrets });
  const plans = createSealedCursors<string>({
    secrets: parts.secrets,
    purpose: "secrets.plan",
    now: parts.now,
    lifeMinutes: 5,
    refusal: "plan_stale",
  });
  serveActs({ router, perform, policy, journal, answers, changes, plans });
  serveListings({
    router,
    perform,
    policy,
    decide,
    changes,
    pdpClient: parts.pdpClient,
    cursors: createSealedCursors<string>({ secrets: parts.secrets, purpose: "secrets.cursor", now: parts.now, lifeMinutes: 60 }),
    serves: ({ scheme }) => providers.get(scheme)?.can.has("list") === true,
    isWritable: ({ scheme }) => providers.get(scheme)?.isReadOnly !== true,
  });

  const marks = mountMarks(mounts, parts.secrets);
  const stopping = new AbortController();
  serveAudit({
    router,
    authenticate,
    policy,
    pdpClient: parts.pdpClient,
    database: parts.database,
    references: parts.recorder.references,
    bus: parts.bus,
    cursors: createSealedCursors<string>({ secrets: parts.secrets, purpose: "secrets.audit", now: parts.now, lifeMinutes: 60 }),
    resourceRef,
    previousRefs: previousRefsOf(parts.config),
    hasStream: parts.config.eventsStream ?? parts.environment !== "production",
    stopping: stopping.signal,
    log: parts.log,
  });

  router.serve(secretOperations.read.endpoint, async ({ query, ...from }) =>
    plainReply(
      await perform({
        operation: secretOperations.read,
        uri: parseSecretUri(query.uri, policy.schemes),
        ...whoOf(from),
        act: async (provider, ref, permit) => requireDecided(await provider.read(ref), permit),
      }),
    ),
  );

  router.serve(secretOperations.value.endpoint, async ({ query, ...from }) =>
    valueReply(
      await perform({
        operation: secretOperations.value,
        uri: withVersion(parseSecretUri(query.uri, policy.schemes), query.version),
        ...whoOf(from),
        wanted: query.purpose,
        reported: ({ cached }) => ({ cached }),
        act: async (provider, ref, permit) => requireDecided(await readValue(provider, ref, asksForFresh(from.request.headers)), permit),
      }),
    ),
  );

  const settling = startInterval({
    everyMs: SETTLE_EVERY_MS,
    work: async () => {
      await changes.retry();
      await answers.forget();
      await intents.forget();
      const settling = {
        providers,
        schemes: policy.schemes,
        changes,
        change: parts.change,
        resourceRef,
        isPlatform: policy.isPlatform,
        log: parts.log,
      };
      await settleMoves({ ...settling, journal });
      await settleIntents({ ...settling, intents, metrics: parts.metrics });
    },
    failed: (cause) => parts.log.error("secret_moves_unsettled", { cause }),
  });
  const ready = async (): Promise<readonly string[]> => [];
  /** Stores that cannot be used as they should be, and why: the others are, so that it is ready all the same. */
  const degraded = async (): Promise<readonly string[]> => {
    const states = parts.providers.map(async (provider) => {
      const { issue } = await Promise.race([provider.state(), sleep(LOOK_FOR_MS, { issue: "unreachable" }, { ref: false })]);
      return issue === undefined ? [] : [`${provider.name}:${issue}`];
    });
    return (await Promise.all(states)).flat();
  };
  return {
    name: "secrets",
    fetch: withOwnPages(router.fetch, {
      ready,
      more: async () => {
        const issues = await degraded();
        return { mounts: marks, ...(issues.length === 0 ? {} : { status: "degraded", degraded: issues }) };
      },
      metrics: parts.metrics,
      isListed: parts.isScraperListed ?? (() => false),
      requireReader: createMetricsReader(parts.authenticate),
    }),
    ready,
    [Symbol.asyncDispose]: () => {
      stopping.abort();
      return settling[Symbol.asyncDispose]();
    },
  };
};
