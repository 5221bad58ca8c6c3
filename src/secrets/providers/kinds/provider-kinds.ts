import type { Scheme } from "#contract/secret-schemes.ts";
import type { Environment, SettingsOf } from "#contract/setting.ts";
import { kvv2 } from "#secrets/providers/kvv2/kvv2.ts";
import type { ProviderKind } from "#secrets/providers/provider-kind.ts";
import { yaml } from "#secrets/providers/yaml/yaml.ts";

const bySchemes = { yaml, "vaulta+kv2": kvv2, "vaultb+kv2": kvv2 } as const satisfies Record<Scheme, ProviderKind<never>>;

export const providerKinds = [...new Set(Object.values(bySchemes))];

/** Groups of settings of all providers. */
export const providerSettings = { ...yaml.settings, ...kvv2.settings };

type ProviderSettings = { readonly [Group in keyof typeof providerSettings]: SettingsOf<(typeof providerSettings)[Group]> };

/** The addresses of all stores that are configured, and the issues of their settings. */
export const readStores = (settings: ProviderSettings, environment: Environment) => {
  const read = providerKinds.map((kind) => kind.read(settings, environment));
  return { stores: new Map(read.flatMap(({ stores }) => [...stores])), issues: read.flatMap(({ issues }) => issues) };
};
