import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { readSettings } from "#contract/setting.ts";
import { openTrustingFetch } from "#http/trusting-fetch.ts";
import { createKvClient, type KvClient } from "#secrets/providers/kvv2/kv-client.ts";
import type { KvMemory } from "#secrets/providers/kvv2/kv-session.ts";
import { createKvProvider, type FoundMounts } from "#secrets/providers/kvv2/kv-provider.ts";
import { kvSettings, type KvServer } from "#secrets/providers/kvv2/kv-settings.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import type { SecretPrefix } from "#secrets/model/secret-uri.ts";
import type { Scheme } from "#contract/secret-schemes.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { startOpenBao, type OpenBao, type OpenBaoOptions } from "./openbao.ts";
import { sharedInFile } from "./shared.ts";

/** One OpenBao for all tests of a file, started by the first that needs it; `find` is `requireProgram(t, "bao")`, without which that test is skipped. */
export const sharedOpenBao = (
  find: (t: TestContext) => string | undefined,
  options: OpenBaoOptions,
): ((t: TestContext) => Promise<OpenBao | undefined>) => {
  const started = sharedInFile((t, program: string) => startOpenBao(t, program, options));
  return async (t) => {
    const program = find(t);
    return program === undefined ? undefined : started(program);
  };
};

/** A server's settings as the environment would give them, `VAULT_` left out of the names. */
export const kvServer = (given: Readonly<Record<string, string>>): KvServer => {
  const variables = Object.fromEntries(Object.entries(given).map(([name, value]) => [`VAULT_${name}`, value]));
  const { values, issues } = readSettings(kvSettings("VAULT"), variables);
  if (issues.length > 0 || values.url === undefined) throw new Error(JSON.stringify(issues));
  return { ...values, url: values.url, prefix: "VAULT" };
};

export interface KvProviderOptions {
  readonly scheme?: Scheme;
  readonly now?: () => Date;
  readonly memory?: KvMemory;
  /** Shared by the providers of one instance. */
  readonly found?: FoundMounts;
  /** Where health tries a read. */
  readonly places?: readonly SecretPrefix[];
  /** Around the client, for what a test does between two calls of it. */
  readonly wrap?: (client: KvClient) => KvClient;
}

/** A provider on a server as Sallyport makes it. */
export const kvProvider = (server: KvServer, options: KvProviderOptions = {}): SecretProvider => {
  const { scheme = "vaulta+kv2", now = () => new Date(), wrap = (client) => client, memory, found = new Map(), places = [] } = options;
  const { send } = openTrustingFetch(server.caFile === undefined ? undefined : [readFileSync(server.caFile, "utf8")]);
  const client = createKvClient({ server, name: scheme, send, metrics: createMetrics(), now, ...(memory === undefined ? {} : { memory }) });
  return createKvProvider({ scheme, client: wrap(client), found, places });
};
