import { createHmac, randomBytes } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import {
  describeSecret,
  listSecretKeys,
  listSecretMetadata,
  listSecretMounts,
  listSecretVersions,
  searchSecrets,
} from "#contract/secret-listings.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { Router } from "#http/serve.ts";
import type { createSecretDecision } from "#secrets/pipeline/authorize-secret.ts";
import { createListing } from "#secrets/operations/listing.ts";
import type { SecretsContext } from "#secrets/pipeline/secrets-context.ts";
import { secretOperations } from "#contract/secret-operations.ts";
import { whoOf, type OperationPipeline, type From } from "#secrets/pipeline/pipeline.ts";
import type { SecretDetail, SecretProvider, SecretVersion } from "#secrets/providers/secret-provider.ts";
import { formatPrefix, parseSecretUri, type SecretPrefix } from "#secrets/model/secret-uri.ts";
import { SecretValue, wireOf } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";
import { isAble } from "#contract/secret-schemes.ts";

export interface ListingParts extends Pick<SecretsContext, "policy" | "changes" | "pdpClient"> {
  readonly router: Router<Caller>;
  readonly perform: OperationPipeline;
  readonly decide: ReturnType<typeof createSecretDecision>;
  readonly cursors: SealedCursors<string>;
  /** Whether a place's provider is here and can list. */
  readonly serves: (place: SecretPrefix) => boolean;
  readonly isWritable: (place: SecretPrefix) => boolean;
}

const MAX_FINGERPRINTS = 10;
const DEFAULT_LIMIT = 100;
const DEFAULT_DEPTH = 3;

/** Versions that hold the same have the same fingerprint, which under the key of one answer tells nothing else. */
const withFingerprints = async (provider: SecretProvider, ref: SecretRef, versions: readonly SecretVersion[]) => {
  const key = randomBytes(32);
  const fingerprintOf = async ({ version, state }: SecretVersion): Promise<{ fingerprint?: string }> => {
    if (state !== "active") return {};
    const text = canonicalJson(wireOf(SecretValue.reveal((await provider.read({ ...ref, version })).value))) ?? "";
    return { fingerprint: createHmac("sha256", key).update(text).digest("base64url") };
  };
  return Promise.all(versions.map(async (one, at) => ({ ...one, ...(at < MAX_FINGERPRINTS ? await fingerprintOf(one) : {}) })));
};

/** Everything that tells of secrets without their values. */
export const serveListings = (parts: ListingParts): void => {
  const { router, perform, policy } = parts;
  const list = createListing(parts);

  const placesOf = (tenant: string): readonly SecretPrefix[] => {
    try {
      return policy.narrow(tenant, undefined);
    } catch (error) {
      if (error instanceof Problem && error.code === "tenant_mount") return [];
      throw error;
    }
  };

  router.serve(listSecretMounts, async ({ caller, correlationId }) => {
    await parts.pdpClient.require(caller, { type: "secrets", action: "view_all" }, correlationId);
    return {
      mounts: placesOf(caller.tenant).map((place) => ({
        uri: formatPrefix(place),
        versions: isAble(place.scheme, "versions"),
        writable: parts.isWritable(place),
      })),
    };
  });

  router.serve(listSecretMetadata, async ({ query, ...from }) => {
    const page = await list({
      ...query,
      ...whoOf(from),
      operation: secretOperations.metadata,
      limit: query.limit ?? DEFAULT_LIMIT,
      depth: query.depth ?? 1,
    });
    const last = await parts.changes.last(
      from.caller.tenant,
      page.items.map(({ uri }) => uri),
    );
    return {
      items: page.items.map(({ uri, keys }) => ({ uri, keys: keys?.length ?? null, ...last.get(uri) })),
      next_cursor: page.nextCursor,
      truncated_by: page.truncatedBy,
      skipped: page.skipped,
    };
  });

  router.serve(searchSecrets, async ({ query, ...from }) => {
    const page = await list({
      ...query,
      ...whoOf(from),
      operation: secretOperations.search,
      limit: query.limit ?? DEFAULT_LIMIT,
      depth: query.depth ?? DEFAULT_DEPTH,
    });
    return {
      items: page.items.map(({ uri, match }) => ({ uri, match })),
      next_cursor: page.nextCursor,
      truncated: page.truncatedBy !== undefined,
      truncated_by: page.truncatedBy,
      skipped: page.skipped,
    };
  });

  router.serve(listSecretKeys, async ({ query, ...from }) => {
    const { ref, result } = await perform({
      operation: secretOperations.keys,
      uri: parseSecretUri(query.uri, policy.schemes),
      ...whoOf(from),
      act: (provider, at) => provider.keys(at),
    });
    return { uri: ref.canonical, keys: [...result.keys], nodes: [...result.nodes] };
  });

  const describe = async (
    operation: typeof secretOperations.detail | typeof secretOperations.versions,
    uri: string | undefined,
    from: From,
  ) => {
    const { ref, result } = await perform<SecretDetail>({
      operation,
      uri: parseSecretUri(uri, policy.schemes),
      ...whoOf(from),
      act: (provider, at) => provider.describe(at),
    });
    // Nobody is named for a version that another than Sallyport has made.
    const last = await parts.changes.last(ref.tenant, [ref.id], result.current_version);
    return { uri: ref.canonical, ...result, ...last.get(ref.id), versions: result.versions };
  };
  router.serve(describeSecret, ({ query, ...from }) => describe(secretOperations.detail, query.uri, from));
  router.serve(listSecretVersions, async ({ query, ...from }) => {
    if (query.fingerprints !== "true") {
      const { uri, current_version, versions } = await describe(secretOperations.versions, query.uri, from);
      return { uri, current_version, versions };
    }
    const { ref, result } = await perform({
      operation: { ...secretOperations.versions, purposes: ["read"] },
      uri: parseSecretUri(query.uri, policy.schemes),
      ...whoOf(from),
      act: async (provider, at) => {
        const detail = await provider.describe(at);
        return { ...detail, versions: await withFingerprints(provider, at, detail.versions) };
      },
    });
    return { uri: ref.canonical, current_version: result.current_version, versions: result.versions };
  });
};
