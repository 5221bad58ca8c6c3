import type { SettingsOf } from "#contract/setting.ts";
import type { Log } from "#telemetry/log.ts";
import type { pdpSettings } from "./config.ts";
import { ConfigurationRefused, readPdpConfiguration, type PdpConfiguration } from "./configuration-file.ts";

const loopback = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

const requireSafeAddress = (publicUrl: string, isProduction: boolean): void => {
  const url = new URL(publicUrl);
  if (url.protocol === "https:" || (!isProduction && loopback.test(url.hostname))) return;
  throw new ConfigurationRefused([{ path: "PDP_PUBLIC_URL", message: "must be https; http is for loopback in dev and test" }]);
};

/** The decision point's file, and that this start may be made with it. Throws `ConfigurationRefused`. */
export const readSwitches = async (parts: {
  readonly config: Pick<SettingsOf<typeof pdpSettings>, "publicUrl" | "configFile">;
  readonly environment: "dev" | "test" | "production";
  readonly log: Log;
}): Promise<PdpConfiguration> => {
  const { publicUrl, configFile } = parts.config;
  const isProduction = parts.environment === "production";
  requireSafeAddress(publicUrl, isProduction);
  const switches = await readPdpConfiguration(configFile);
  if (switches.enable_authorization) return switches;
  if (isProduction)
    throw new ConfigurationRefused([
      { path: `${configFile}#/enable_authorization`, file: configFile, message: "may be false in dev and test alone" },
    ]);
  parts.log.warn("pdp_authorization_disabled", { detail: "Every decision is a permit. Never run it so where it matters." });
  return switches;
};
