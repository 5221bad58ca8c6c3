/** What a provider is able to do; each operation needs one of these. `versions`: it stores old versions. */
export type ProviderAbility = "read_plain" | "read_value" | "write" | "remove" | "versions" | "list";

/** What a change did to versions of a secret, or to a secret without versions. */
export type StoreMark = "deleted" | "active" | "destroyed";

/** One scheme of secret URIs. Its provider is in `src/secrets/providers/`. */
export interface SecretStore {
  /** Its column in the table of abilities. */
  readonly label: string;
  /** An example of its places, as the screen of secrets suggests it. */
  readonly place: string;
  readonly can: readonly ProviderAbility[];
  readonly grammar: {
    /** The only mount that there is; any unless set. */
    readonly mount?: string;
    /** Names of JavaScript's own members are no segments and no keys. */
    readonly reservesNames?: true;
    /** A map below a secret is a secret of its own: `n#x` is `n/x` where it holds a map. */
    readonly nestsSecrets?: true;
  };
  /** Event of each mark, and when it is emitted; none where the store cannot show it. */
  readonly events: Partial<Record<StoreMark, { readonly type: string; readonly summary: string }>>;
}

const kvv2 = {
  label: "KVv2",
  place: "a mount of an OpenBao or Vault server",
  can: ["read_value", "write", "remove", "versions", "list"],
  grammar: {},
  events: {
    deleted: { type: "secrets.kv2.deleted", summary: "A KVv2 server deleted versions." },
    active: { type: "secrets.kv2.undeleted", summary: "A KVv2 server restored versions." },
    destroyed: { type: "secrets.kv2.destroyed", summary: "A KVv2 server destroyed versions." },
  },
} as const satisfies SecretStore;

const stores = {
  yaml: {
    label: "file",
    place: "yaml://secret for the file",
    can: ["read_plain", "read_value", "write", "remove", "list"],
    grammar: { mount: "secret", reservesNames: true, nestsSecrets: true },
    events: { deleted: { type: "secrets.yaml.removed", summary: "Keys were removed from the secrets file." } },
  },
  "vaulta+kv2": kvv2,
  "vaultb+kv2": kvv2,
} as const satisfies Record<string, SecretStore>;

export type Scheme = keyof typeof stores;

/** The one list of schemes, lower-case as they are canonical: URIs of secrets are parsed, written and hidden by it. */
export const secretStores: Readonly<Record<Scheme, SecretStore>> = stores;

export const secretSchemes = Object.keys(stores) as readonly Scheme[];

export const isAble = (scheme: Scheme, ability: ProviderAbility): boolean => secretStores[scheme].can.includes(ability);

/** The schemes as alternatives of a regular expression, which ignores case. */
export const secretSchemePattern = secretSchemes.map((scheme) => scheme.replaceAll("+", String.raw`\+`)).join("|");

/** Owner of the deployment's own secrets: in TENANT_ALLOWED_MOUNTS in place of a tenant id. */
export const PLATFORM = "platform";
