import { setTimeout as sleep } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import type { Authenticate } from "#authn/callers/authenticate.ts";
import { bodyShareOf, type Caller } from "#authn/model/caller.ts";
import { createMetricsReader } from "#authn/callers/metrics-reader.ts";
import { withOwnPages } from "#http/ops-endpoints.ts";
import { createRouter } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import { createRequesters } from "./pipeline/requester.ts";
import { mountMarks } from "./model/allowed-mounts.ts";
import { readSecretsPolicy, resourceRefOf } from "./config.ts";
import { createSecretDecision, requireDecided } from "./pipeline/authorize-secret.ts";
import { bulkSecrets } from "#contract/secret-acts.ts";
import { listSecretAudit } from "#contract/secret-audit.ts";
import { createChanges } from "./model/changes.ts";
import { createKeyedAnswers } from "./operations/keyed-answers.ts";
import { listSecretMetadata, listSecretMounts, searchSecrets } from "#contract/secret-listings.ts";
import { createIntents } from "./pipeline/intents.ts";
import { createMoveJournal } from "./pipeline/move-journal.ts";
import { settleMoves } from "./operations/move.ts";
import { secretOperations } from "#contract/secret-operations.ts";
import { createPendingAudits } from "./pipeline/pending-audits.ts";
import { createOperationPipeline, whoOf } from "./pipeline/pipeline.ts";
import { plainReply, valueReply } from "./endpoints/reply.ts";
import { parseSecretBody, readSecretQuery } from "./endpoints/secret-request.ts";
import { parseSecretUri, parseVersion, type SecretUri } from "./model/secret-uri.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { settleIntents } from "./pipeline/settle-intents.ts";
import { serveActs } from "./endpoints/serve-acts.ts";
import { serveAudit } from "./endpoints/serve-audit.ts";
import { serveListings } from "./endpoints/serve-listings.ts";
import { startInterval } from "#http/interval.ts";
import { createSealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { anonymousOf } from "./endpoints/tokenless.ts";
import { createReadValue } from "./operations/value-cache.ts";
import { createValueReadLimit } from "./endpoints/value-read-limit.ts";
import type { SecretsContext, SecretsParts } from "./pipeline/secrets-context.ts";

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
  const keepSeconds = parts.config.cacheSeconds;
  const changes = createChanges(parts.database, keepSeconds);
  const intents = createIntents(parts);
  const readValue = createReadValue({ changes, keepSeconds, metrics: parts.metrics, now: parts.now });
  const audits = createPendingAudits();
  const context: SecretsContext = {
    ...parts,
    policy,
    providers,
    resourceRef,
    changes,
    intents,
    journal: createMoveJournal(parts.database),
  };
  const decide = createSecretDecision(context);
  const perform = createOperationPipeline({
    ...context,
    recognise: createRequesters(context),
    decide,
    limit: createValueReadLimit({ perMinute: VALUE_READS_A_MINUTE, now: parts.now }),
    unclosed: audits.note,
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
  serveActs({ ...context, router, perform, answers, plans });
  serveListings({
    ...context,
    router,
    perform,
    decide,
    cursors: createSealedCursors<string>({ secrets: parts.secrets, purpose: "secrets.cursor", now: parts.now, lifeMinutes: 60 }),
    serves: ({ scheme }) => providers.get(scheme)?.can.has("list") === true,
    isWritable: ({ scheme }) => providers.get(scheme)?.isReadOnly !== true,
  });

  const marks = mountMarks(mounts, parts.secrets);
  const stopping = new AbortController();
  serveAudit({
    ...context,
    router,
    authenticate,
    cursors: createSealedCursors<string>({ secrets: parts.secrets, purpose: "secrets.audit", now: parts.now, lifeMinutes: 60 }),
    stopping: stopping.signal,
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
      await settleMoves(context);
      await settleIntents(context);
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
