/** Schemes of secret URIs, lower-case as they are canonical: the one list, by which addresses of secrets are parsed, written in a system's file, and hidden. */
export const secretSchemes = ["yaml", "vaulta+kv2", "vaultb+kv2"] as const;

/** The schemes as alternatives of a regular expression, which ignores case. */
export const secretSchemePattern = secretSchemes.map((scheme) => scheme.replaceAll("+", String.raw`\+`)).join("|");

/** Whose places of secrets they are that are no tenant's, but the deployment's: in TENANT_ALLOWED_MOUNTS in place of a tenant id. */
export const PLATFORM = "platform";
