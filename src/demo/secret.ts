import { randomBytes } from "node:crypto";
import { Problem } from "#contract/problem.ts";
import { deriveKey } from "#authn/sealing/seal.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { parseSecretUri } from "#secrets/model/secret-uri.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { SecretValue } from "#secrets/model/secret-value.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";
import { parseSchemeAliases } from "#secrets/model/uri-schemes.ts";

/** The key that the demo people directory wants. */
const demoSecretUri = "yaml://secret/people/demo#api_key";

/** Where the demo tenants' secrets lie, for TENANT_ALLOWED_MOUNTS where nothing is set. */
export const demoAllowedMounts = JSON.stringify({
  "tenant:acme": ["yaml://secret/acme"],
  "tenant:globex": ["yaml://secret/globex"],
  platform: ["yaml://secret/people"],
});

/** For TENANT_SALT where nothing is set: records of the demo name secrets, so that one can be looked for. The same at every start of an instance. */
export const demoTenantSalt = (instanceSecret: Uint8Array): string =>
  `hex:${deriveKey(instanceSecret, "demo.tenant-salt.v1").toString("hex")}`;

/** Sallyport's own reference: it made the secret, so no guard stands between. */
const demoRef = (): SecretRef =>
  Object.freeze({ ...parseSecretUri(demoSecretUri, parseSchemeAliases([], "SECRETS_SCHEME_ALIASES").schemes), tenant: "tenant:acme" });

/** Makes the demo's key, 32 random bytes, if there is none yet. Throws `StartIssues` where the file is read-only. */
export const seedDemoSecret = async (provider: SecretProvider): Promise<void> => {
  const ref = demoRef();
  try {
    await provider.read(ref);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    const change = { value: randomBytes(32).toString("base64url"), replace: false };
    const decided = new Set((await provider.nodes(ref, change)).map((node) => node.id));
    await provider.write(ref, change, { decided }).catch((cause: unknown) => {
      if (!(cause instanceof Problem) || cause.code !== "provider_readonly") throw cause;
      throw new StartIssues([
        {
          path: "ENVIRONMENT",
          message: `the secrets file is written in dev and test only, and ${demoSecretUri} is missing; start with --no-demo`,
        },
      ]);
    });
  }
};

/** The demo's key for the demo upstream of the same process; asked at each request, so a rotated key counts at once. */
export const readDemoSecret = async (provider: SecretProvider): Promise<string> => {
  const value = SecretValue.reveal((await provider.read(demoRef())).value);
  if (typeof value !== "string") throw new Problem("value_shape", { detail: `${demoSecretUri} is no text.` });
  return value;
};
