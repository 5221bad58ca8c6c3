import { z } from "zod";
import { commaList, readSettings, setting, type SettingsOf, type SettingTable } from "#contract/setting.ts";
import type { Fault } from "#contract/problem.ts";
import { authnFaults, authnSettings } from "#authn/config.ts";
import { crudSettings } from "#crud/config.ts";
import { eventsSettings } from "#events/config.ts";
import { gatewayFaults, gatewaySettings, redisFaults } from "#gateway/config.ts";
import { membershipSettings } from "#membership/config.ts";
import { pdpSettings } from "#pdp/config.ts";
import { readSecretsPolicy, secretsSettings } from "#secrets/config.ts";
import { storeSettings } from "#store/config.ts";
import { telemetrySettings } from "#telemetry/config.ts";
import { StartRefused } from "./start-refused.ts";

/** Settings of the house itself; each room has its own in its `config.ts`. */
const houseSettings = {
  environment: setting("ENVIRONMENT", z.enum(["dev", "test", "production"]), {
    description: "dev and test allow demo sign-ins and insecure defaults; anything else must be production. Unset means production.",
    default: "production",
  }),
  logLevel: setting("LOG_LEVEL", z.enum(["trace", "debug", "info", "warn", "error", "silent"]), {
    description: "Least severe log line that is written.",
    default: "info",
  }),
  version: setting("BFF_VERSION", z.string().max(64), { description: "Version that health, logs and telemetry name.", default: "0.1.0" }),
  listenHosts: setting("LISTEN_HOSTS", commaList(), {
    description: "Addresses that the listeners bind to. Loopback unless set.",
    default: "127.0.0.1,::1",
  }),
  pdpUrl: setting("PDP_SERVICE_URL", z.url().optional(), {
    description: "Address and token audience of the decision point, when it runs elsewhere.",
  }),
  crudUrl: setting("CRUD_SERVICE_URL", z.url().optional(), {
    description: "Address and token audience of the tool server, when it runs elsewhere.",
  }),
  membershipUrl: setting("MEMBERSHIP_SERVICE_URL", z.url().optional(), {
    description: "Address and token audience of membership, when it runs elsewhere.",
  }),
  secretsUrl: setting("SECRETS_SERVICE_URL", z.url().optional(), {
    description: "Address and token audience of the secrets API, when it runs elsewhere.",
  }),
} satisfies SettingTable;

/** Every room's table; the configuration manual, its schema and the doctor are made from it too. */
export const settingTables = {
  house: houseSettings,
  telemetry: telemetrySettings,
  store: storeSettings,
  events: eventsSettings,
  authn: authnSettings,
  gateway: gatewaySettings,
  pdp: pdpSettings,
  crud: crudSettings,
  membership: membershipSettings,
  secrets: secretsSettings,
} satisfies Record<string, SettingTable>;

export type HouseSettings = { readonly [Room in keyof typeof settingTables]: SettingsOf<(typeof settingTables)[Room]> };

/** All settings with all their faults, those of several settings together included. */
export const readHouseSettings = (
  environment: Readonly<Record<string, string | undefined>>,
): { readonly settings: HouseSettings; readonly faults: readonly Fault[] } => {
  const values: Record<string, unknown> = {};
  const faults: Fault[] = [];
  for (const [room, table] of Object.entries(settingTables)) {
    const read = readSettings<SettingTable>(table, environment);
    values[room] = Object.freeze(read.values);
    faults.push(...read.faults);
  }
  const settings = Object.freeze(values) as HouseSettings;
  // What rows say together can only be judged once each is readable.
  if (faults.length === 0) {
    const { environment: kind } = settings.house;
    faults.push(
      ...authnFaults(settings.authn, kind),
      ...gatewayFaults(settings.gateway, kind),
      ...redisFaults({ sessionStore: settings.gateway.sessionStore, redisUrl: settings.store.redisUrl }, kind),
      ...readSecretsPolicy(settings.secrets, kind).faults,
    );
  }
  return { settings, faults };
};

/** As `readHouseSettings`; refuses the start (78) with every fault and its variable. */
export const requireHouseSettings = (environment: Readonly<Record<string, string | undefined>>): HouseSettings => {
  const { settings, faults } = readHouseSettings(environment);
  if (faults.length === 0) return settings;
  throw new StartRefused(78, [
    "The settings are wrong; nothing was started:",
    ...faults.map((fault) => `  ${fault.path}: ${fault.message}`),
  ]);
};
