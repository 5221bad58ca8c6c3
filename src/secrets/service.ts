import { Problem } from "#contract/problem.ts";
import type { Peer } from "#contract/ask.ts";
import type { Authenticate } from "#authn/authenticate.ts";
import type { Caller } from "#authn/caller.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";
import type { Change } from "#events/change.ts";
import type { Recorder } from "#events/audit/entry.ts";
import { answer, createRouter } from "#http/serve.ts";
import type { Service } from "#http/service.ts";
import { boundDecisionPoint } from "#pdp/bounded-decision-point.ts";
import type { Decider } from "#pdp/decide.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { Tracing } from "#telemetry/tracing.ts";
import { createAskers } from "./asker.ts";
import { readSecretsPolicy, resourceRefOf, type Environment, type SecretsConfig } from "./config.ts";
import { createSecretDecision } from "./decide-secret.ts";
import { operations } from "./operations.ts";
import { createCorridor } from "./perform.ts";
import type { ReadSecret, SecretProvider } from "./providers/secret-provider.ts";
import { plainReply, valueReply, writeReply } from "./reply.ts";
import { parseSecretBody, readSecretQuery } from "./secret-request.ts";
import { parseSecretUri, parseVersion, type SecretUri } from "./secret-uri.ts";
import { isSecretMap, parseSecretData } from "./secret-value.ts";
import { StartFaults } from "#contract/start-faults.ts";
import { createValueReadLimit } from "./value-read-limit.ts";

export interface SecretsParts {
  readonly config: SecretsConfig;
  /** One a scheme at most; `createYamlProvider` makes that of the file. */
  readonly providers: readonly SecretProvider[];
  readonly authenticate: Authenticate;
  readonly identity: HouseIdentity;
  readonly decider: Decider;
  /** For the decision records that workloads name. */
  readonly peers: { readonly pdp: Peer };
  readonly audiences: { readonly pdp: string };
  /** For a whole answer about such a record. */
  readonly pdpTimeoutMs: number;
  readonly recorder: Recorder;
  readonly change: Change;
  readonly publicOrigin: string;
  readonly environment: Environment;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Traces; none unless given. */
  readonly tracing?: Tracing;
  readonly now: () => Date;
}

const VALUE_READS_A_MINUTE = 600;

/** Whom a request without token is, where dev or test allow it. */
const anonymous = (tenant: string, now: Date): Caller => ({
  sub: "service:anonymous",
  tenant,
  scopes: new Set(),
  actors: [],
  amr: [],
  issuer: "none",
  isHouseService: false,
  token: "",
  expiresAt: Math.floor(now.getTime() / 1000) + 60,
});

/** What was read must have been decided, node by node: the file may have grown in between. */
const requireDecided = (read: ReadSecret, decided: ReadonlySet<string>): ReadSecret => {
  if (!read.nodes.every((node) => decided.has(node.id))) throw new Problem("busy", { detail: "The secret changed after the decision." });
  return read;
};

/** The version that URI and parameter name together; only one may, or both the same. */
const withVersion = (uri: SecretUri, text: string | undefined): SecretUri => {
  if (text === undefined) return uri;
  const version = parseVersion(text, uri.scheme);
  if (uri.version !== undefined && uri.version !== version) throw new Problem("version_conflict");
  return Object.freeze({ ...uri, version, canonical: `${uri.id}?version=${version}` });
};

/** Throws `StartFaults` for settings that do not go together; `readSecretsPolicy` tells them before. */
export const createSecrets = async (parts: SecretsParts): Promise<Service> => {
  const { policy, faults } = readSecretsPolicy(parts.config, parts.environment);
  if (faults.length > 0) throw new StartFaults(faults);
  if (!policy.hasMounts) parts.log.warn("secrets_without_mounts", { hint: "TENANT_ALLOWED_MOUNTS is empty: every secret is refused" });
  if (!policy.requireAuth) parts.log.warn("secrets_without_auth", { hint: "SECRETS_API_REQUIRE_AUTH is false" });
  if (!policy.enforceScopes) parts.log.warn("secrets_without_scopes", { hint: "SECRETS_ENFORCE_SCOPES is false" });

  const resourceRef = resourceRefOf(parts.config);
  const perform = createCorridor({
    policy,
    providers: new Map(parts.providers.flatMap((provider) => provider.schemes.map((scheme) => [scheme, provider]))),
    recognise: createAskers({
      policy,
      pdp: boundDecisionPoint(parts.peers.pdp, parts.pdpTimeoutMs),
      pdpAudience: parts.audiences.pdp,
      identity: parts.identity,
      now: parts.now,
    }),
    decide: createSecretDecision({
      decider: parts.decider,
      resourceRef,
      publicOrigin: parts.publicOrigin,
      now: parts.now,
    }),
    limit: createValueReadLimit({ perMinute: VALUE_READS_A_MINUTE, now: parts.now }),
    recorder: parts.recorder,
    change: parts.change,
    ...(parts.tracing === undefined ? {} : { tracing: parts.tracing }),
    resourceRef,
    metrics: parts.metrics,
    log: parts.log,
  });

  const router = createRouter<Caller>({
    ...(parts.tracing === undefined ? {} : { tracing: parts.tracing }),
    name: "secrets",
    // The scope is asked for inside the corridor, after the tenant guard; the router asks for a valid token alone.
    authenticate: async (request, endpoint) =>
      !policy.requireAuth && policy.tenantId !== undefined && !request.headers.has("authorization")
        ? anonymous(policy.tenantId, parts.now())
        : parts.authenticate(request, { ...endpoint, scope: [] }),
    log: parts.log,
    validateReplies: parts.environment !== "production",
    readQuery: readSecretQuery,
    parseJson: parseSecretBody,
  });

  router.serve(operations.write.endpoint, async ({ body, caller, request, correlationId }) => {
    const uri = parseSecretUri(body.uri, policy.schemes);
    if (uri.version !== undefined) throw new Problem("uri_version_not_allowed");
    if (body.value === undefined) throw new Problem("invalid_body", { errors: [{ path: "/value", message: "is required" }] });
    if (request.headers.has("if-match") && uri.scheme === "yaml")
      throw new Problem("not_supported", { detail: "The file keeps no versions." });
    const change = { value: parseSecretData(body.value), replace: body.replace ?? false };
    if (uri.key === undefined && !isSecretMap(change.value))
      throw new Problem("value_shape", { detail: "Without a key in the URI the value is a map." });
    const cas = body.cas === undefined ? {} : { cas: body.cas };
    const done = await perform({
      operation: operations.write,
      uri,
      caller,
      headers: request.headers,
      correlationId,
      change,
      ...cas,
      act: (provider, ref, permit) => provider.write(ref, change, { decided: permit.nodes, ...cas }),
    });
    return answer(writeReply(done), { status: done.result.created ? 201 : 200 });
  });

  router.serve(operations.read.endpoint, async ({ query, caller, request, correlationId }) =>
    plainReply(
      await perform({
        operation: operations.read,
        uri: parseSecretUri(query.uri, policy.schemes),
        caller,
        headers: request.headers,
        correlationId,
        act: async (provider, ref, permit) => requireDecided(await provider.read(ref), permit.nodes),
      }),
    ),
  );

  router.serve(operations.value.endpoint, async ({ query, caller, request, correlationId }) =>
    valueReply(
      await perform({
        operation: operations.value,
        uri: withVersion(parseSecretUri(query.uri, policy.schemes), query.version),
        caller,
        headers: request.headers,
        correlationId,
        ...(query.purpose === undefined ? {} : { wanted: query.purpose }),
        act: async (provider, ref, permit) => requireDecided(await provider.read(ref), permit.nodes),
      }),
    ),
  );

  return {
    name: "secrets",
    fetch: router.fetch,
    ready: async () => {
      const states = await Promise.all(parts.providers.map(async (provider) => ({ name: provider.name, ...(await provider.state()) })));
      return states.filter((state) => state.status === "down").map((state) => `secrets:${state.name}`);
    },
    [Symbol.asyncDispose]: async () => {},
  };
};
