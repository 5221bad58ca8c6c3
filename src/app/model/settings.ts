import { isIP } from "node:net";
import { z } from "zod";
import {
  commaList,
  plainAddresses,
  readSettings,
  setting,
  type Environment,
  type SettingsOf,
  type SettingTable,
} from "#contract/setting.ts";
import type { Issue } from "#contract/problem.ts";
import { authnIssues, authnSettings } from "#authn/config.ts";
import { crudIssues, crudSettings } from "#crud/config.ts";
import { eventsIssues, eventsSettings } from "#events/config.ts";
import { gatewayIssues, gatewaySettings, redisFaults } from "#gateway/config.ts";
import { httpIssues, httpSettings } from "#http/config.ts";
import { membershipSettings } from "#membership/config.ts";
import { pdpIssues, pdpSettings } from "#pdp/config.ts";
import { readSecretsPolicy, secretsSettings } from "#secrets/config.ts";
import { providerSettings, readStores } from "#secrets/providers/kinds/provider-kinds.ts";
import { storeIssues, storeSettings } from "#store/config.ts";
import { telemetryIssues, telemetrySettings } from "#telemetry/config.ts";

const serviceUrl = (env: string, service: string) =>
  setting(env, z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).optional(), {
    description: `Address and token audience of ${service}, when it runs elsewhere.`,
  });

/** Settings of Sallyport itself; each module has its own in its `config.ts`. */
const instanceSettings = {
  environment: setting("ENVIRONMENT", z.enum(["dev", "test", "production"]), {
    description: "dev and test allow demo sign-ins and insecure defaults; anything else must be production. Unset means production.",
    default: "production",
    npmStart: "dev",
  }),
  logLevel: setting("LOG_LEVEL", z.enum(["trace", "debug", "info", "warn", "error", "silent"]), {
    description: "Least severe log line that is written.",
    default: "info",
    npmStart: "warn",
  }),
  version: setting("BFF_VERSION", z.string().max(64), { description: "Version that health, logs and telemetry name.", default: "0.1.0" }),
  listenHosts: setting("LISTEN_HOSTS", commaList(), {
    description: "Addresses that the listeners bind to. Loopback unless set.",
    default: "127.0.0.1,::1",
  }),
  pdpUrl: serviceUrl("PDP_SERVICE_URL", "the decision point"),
  crudUrl: serviceUrl("CRUD_SERVICE_URL", "the tool server"),
  membershipUrl: serviceUrl("MEMBERSHIP_SERVICE_URL", "membership"),
  secretsUrl: serviceUrl("SECRETS_SERVICE_URL", "the secrets API"),
} satisfies SettingTable;

/** What no single row can say: between machines, services speak over TLS. */
const instanceIssues = (config: SettingsOf<typeof instanceSettings>, environment: Environment): readonly Issue[] => [
  ...config.listenHosts
    .filter((host) => isIP(host) === 0)
    .map((host) => ({ path: "LISTEN_HOSTS", message: `${host} is no address; it must be one of this machine, e.g. 127.0.0.1` })),
  ...plainAddresses(
    {
      PDP_SERVICE_URL: config.pdpUrl,
      CRUD_SERVICE_URL: config.crudUrl,
      MEMBERSHIP_SERVICE_URL: config.membershipUrl,
      SECRETS_SERVICE_URL: config.secretsUrl,
    },
    environment,
  ),
];

/** Every module's table; the configuration manual, its schema and the doctor are made from it too. */
export const settingTables = {
  instance: instanceSettings,
  http: httpSettings,
  telemetry: telemetrySettings,
  store: storeSettings,
  events: eventsSettings,
  authn: authnSettings,
  gateway: gatewaySettings,
  pdp: pdpSettings,
  crud: crudSettings,
  membership: membershipSettings,
  secrets: secretsSettings,
  ...providerSettings,
} satisfies Record<string, SettingTable>;

export type InstanceSettings = { readonly [Module in keyof typeof settingTables]: SettingsOf<(typeof settingTables)[Module]> };

/** The environment as `npm start` reads it: what is unset has the value of a development instance. */
export const npmStartEnvironment = (environment: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> => {
  const filled = { ...environment };
  for (const table of Object.values<SettingTable>(settingTables))
    for (const { env, npmStart } of Object.values(table)) if (npmStart !== undefined) filled[env] ||= npmStart;
  return filled;
};

/** What rows say together, of all modules. */
const jointIssues = (settings: InstanceSettings): readonly Issue[] => {
  const { environment: kind } = settings.instance;
  const stores = readStores(settings, kind);
  return [
    ...instanceIssues(settings.instance, kind),
    ...httpIssues(settings.http),
    ...telemetryIssues(settings.telemetry, kind),
    ...storeIssues(settings.store, kind),
    ...eventsIssues(settings.events, kind),
    ...authnIssues(settings.authn, kind),
    ...gatewayIssues(settings.gateway, kind),
    ...redisFaults({ sessionStore: settings.gateway.sessionStore, redisUrl: settings.store.redisUrl }, kind),
    ...pdpIssues(settings.pdp, kind),
    ...crudIssues(settings.crud, kind),
    ...stores.issues,
    ...readSecretsPolicy(settings.secrets, kind, stores.stores).issues,
  ];
};

/**
 * All settings with all their issues, those of several settings together included. What cannot be read has its default in
 * `settings`, so that everything else can still be looked at; `unread` names those variables.
 */
export const readInstanceSettings = (
  environment: Readonly<Record<string, string | undefined>>,
): { readonly settings: InstanceSettings; readonly issues: readonly Issue[]; readonly unread: ReadonlySet<string> } => {
  const values: Record<string, unknown> = {};
  const issues: Issue[] = [];
  for (const [module, table] of Object.entries<SettingTable>(settingTables)) {
    const read = readSettings(table, environment);
    issues.push(...read.issues);
    const readable = { ...environment };
    for (const { path } of read.issues) delete readable[path];
    values[module] = Object.freeze(readSettings(table, readable).values);
  }
  const settings = Object.freeze(values) as InstanceSettings;
  const unread = new Set(issues.map(({ path }) => path));
  // Node's own switch, which nothing here reads.
  if (settings.instance.environment === "production" && environment["NODE_TLS_REJECT_UNAUTHORIZED"] === "0")
    issues.push({ path: "NODE_TLS_REJECT_UNAUTHORIZED", message: "must not be 0: no certificate would be looked at" });
  // Nothing reads it: an operator who relies on it must not start something else unseen.
  if (environment["MCP_STDIO_ALLOW"])
    issues.push({
      path: "MCP_STDIO_ALLOW",
      message: "is no setting: name the servers in servers.yaml of the configuration folder (docs/reference/servers.md), and unset it",
    });
  // What a default stands for says nothing of its own.
  issues.push(...jointIssues(settings).filter(({ path }) => path.split(", ").every((name) => !unread.has(name))));
  return { settings, issues, unread };
};
