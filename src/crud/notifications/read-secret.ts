import { ask, type Peer } from "#contract/ask.ts";
import { Problem } from "#contract/problem.ts";
import { readSecretValue } from "#contract/secrets.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import { NotDelivered } from "#events/relay/deliverer.ts";

export interface SecretAccess {
  readonly secrets: Peer;
  readonly secretsAudience: string;
  readonly identity: ServiceIdentity;
}

/** Of the tenant's secrets, one that an administrator named for notifications. */
export type ReadSecret = (tenant: string, uri: string) => Promise<string>;

/** Reads as the tool server itself, within a tenant: each read is decided and recorded. Throws `NotDelivered` for one that it may not have. */
export const createSecretReader =
  ({ secrets, secretsAudience, identity }: SecretAccess): ReadSecret =>
  async (tenant, uri) => {
    const authorization = `Bearer ${await identity.asService(secretsAudience, ["secrets.read"])}`;
    try {
      const headers = { authorization, "x-correlation-id": "notifications", "x-tenant-id": tenant };
      const { value } = await ask(secrets, readSecretValue, { query: { uri, purpose: "read" }, headers });
      if (typeof value === "string" && value !== "") return value;
      throw new NotDelivered("its secret is no text");
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error;
      throw new NotDelivered(`its secret cannot be read (${error.code})`);
    }
  };
