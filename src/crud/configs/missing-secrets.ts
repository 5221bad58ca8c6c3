import { ask, type Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { listSecretKeys } from "#contract/secret-listings.ts";
import type { Caller } from "#authn/caller.ts";
import type { HouseIdentity } from "#authn/house-identity.ts";

export interface SecretLookParts {
  readonly secrets: Peer;
  readonly secretsAudience: string;
  readonly identity: Pick<HouseIdentity, "onBehalfOf">;
}

/**
 * Which of the secrets that a system names are not there, as its publisher may know: a warning and no fault, for a secret may be written after
 * the system that needs it. Of what the publisher may not look at, and while secrets are away, nothing is said. No value is read.
 */
export const missingSecrets = async (
  parts: SecretLookParts,
  asked: { readonly caller: Caller; readonly correlationId: string },
  uris: readonly string[],
): Promise<readonly string[]> => {
  if (uris.length === 0) return [];
  const token = await parts.identity.onBehalfOf(parts.secretsAudience, { ...asked.caller, scopes: ["secrets.read_metadata"] });
  const headers = { authorization: `Bearer ${token}`, "x-correlation-id": asked.correlationId };
  const said = await Promise.all(
    [...new Set(uris)].map(async (uri) => {
      try {
        await ask(parts.secrets, listSecretKeys, { query: { uri }, headers });
        return undefined;
      } catch (error) {
        if (!(error instanceof Problem) || (error.status !== 404 && error.status !== 400)) return undefined;
        return `${uri} is not there (${error.code}): calls are refused until it is written.`;
      }
    }),
  );
  return said.filter((one) => one !== undefined);
};
