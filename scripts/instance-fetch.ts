import { readSettings } from "#contract/setting.ts";
import { httpSettings } from "#http/config.ts";
import { readTls } from "#http/tls-files.ts";
import { openTrustingFetch, type Send } from "#http/trusting-fetch.ts";

/** How an instance that was started in this environment is spoken to on this machine. */
export const reachInstance = async (
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<{ readonly scheme: "http" | "https"; readonly send: Send }> => {
  const { own, ca } = await readTls(readSettings(httpSettings, environment).values);
  return { scheme: own === undefined ? "http" : "https", send: openTrustingFetch(ca).send };
};
