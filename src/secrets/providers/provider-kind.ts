import type { Issue } from "#contract/problem.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import type { Environment, SettingTable } from "#contract/setting.ts";
import type { SecretPrefix } from "#secrets/model/secret-uri.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import type { SecretProvider } from "./secret-provider.ts";

/** One thing that a check found; a fault stops the start. */
export interface ProviderFinding {
  readonly area: "secrets" | "settings";
  readonly status: "ok" | "warn" | "fault";
  readonly text: string;
}

/** `S`: the groups of settings that the provider declares. */
export interface ProviderChecking<S> {
  readonly settings: S;
  readonly environment: Environment;
  /** The secrets file; `undefined`: its folder cannot be used. */
  readonly file: string | undefined;
  /** All places of TENANT_ALLOWED_MOUNTS. */
  readonly places: readonly SecretPrefix[];
  readonly metrics: Metrics;
  readonly now: () => Date;
}
export interface ProviderOpening<S> extends ProviderChecking<S> {
  readonly log: Log;
  readonly stack: Pick<AsyncDisposableStack, "use">;
}

/** What a folder of a provider exports. What it can do and how its URIs look stands in `#contract/secret-schemes.ts`. */
export interface ProviderKind<S> {
  /** Groups of settings, by their names in the settings of the instance. */
  readonly settings: Readonly<Record<string, SettingTable>>;
  /** The address of the store of each scheme that has one; equal addresses are one store. */
  readonly read: (
    settings: S,
    environment: Environment,
  ) => { readonly stores: ReadonlyMap<Scheme, string>; readonly issues: readonly Issue[] };
  /** Looks as a start does and changes nothing; with the stores that it recognised. Throws `StartIssues`. */
  readonly check: (
    checking: ProviderChecking<S>,
  ) => Promise<{ readonly findings: readonly ProviderFinding[]; readonly stores: ReadonlyMap<Scheme, string> }>;
  /** Providers of the schemes that are configured. Throws `StartIssues`. */
  readonly open: (opening: ProviderOpening<S>) => Promise<readonly SecretProvider[]>;
}
