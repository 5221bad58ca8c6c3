import type { Peer } from "#contract/ask.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import type { ServiceIdentity } from "#authn/keys/service-identity.ts";
import type { ServiceParts } from "#authn/callers/service-parts.ts";
import type { Recorder } from "#events/audit/entry.ts";
import type { References } from "#events/audit/references.ts";
import type { LiveBus } from "#events/streams/live-bus.ts";
import type { ResourceRef } from "#events/model/resource-ref.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import type { Changes } from "#secrets/model/changes.ts";
import type { SecretsConfig, SecretsPolicy } from "#secrets/config.ts";
import type { Intents } from "#secrets/pipeline/intents.ts";
import type { MoveJournal } from "./move-journal.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";

export interface SecretsParts extends ServiceParts {
  readonly config: SecretsConfig;
  /** The address of the store of each scheme that has one. */
  readonly stores?: ReadonlyMap<Scheme, string>;
  /** One a scheme at most; `createYamlProvider` makes that of the file. */
  readonly providers: readonly SecretProvider[];
  readonly identity: ServiceIdentity;
  readonly pdpClient: PdpClient;
  /** For the decision records that workloads name. */
  readonly peers: { readonly pdp: Peer };
  readonly audiences: { readonly pdp: string };
  /** For a whole answer about such a record. */
  readonly pdpTimeoutMs: number;
  readonly recorder: Recorder & { readonly references: Pick<References, "find" | "subjectsOf" | "resolve" | "unseal"> };
  readonly bus: LiveBus;
  readonly publicOrigin: string;
  /** The operator's tenant, whose people reach what is the platform's; `undefined`: there is none yet. */
  readonly findOperator?: () => Promise<string | undefined>;
}

/** What the parts of the service have in common. */
export interface SecretsContext extends Omit<SecretsParts, "providers"> {
  readonly policy: SecretsPolicy;
  readonly providers: ReadonlyMap<Scheme, SecretProvider>;
  readonly resourceRef: ResourceRef | undefined;
  readonly changes: Changes;
  readonly intents: Intents;
  readonly journal: MoveJournal;
}
