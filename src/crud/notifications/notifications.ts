import { createDeliverer } from "#events/relay/deliverer.ts";
import { startInterval } from "#http/interval.ts";
import type { Log } from "#telemetry/log.ts";
import type { Metrics } from "#telemetry/metrics.ts";
import { createDeliveries, type DeliveryContext } from "./deliveries.ts";
import type { CrudConfig } from "#crud/config.ts";
import { createMailer } from "./mailer.ts";
import { createSecretReader, type SecretAccess } from "./read-secret.ts";

export interface NotificationsContext extends Omit<DeliveryContext, "sendMail" | "readSecret">, SecretAccess {
  /** Without an address of a mail server: no mail. */
  readonly config: Pick<CrudConfig, "smtpUrl" | "smtpPasswordUri" | "mailFrom">;
  readonly environment: "dev" | "test" | "production";
  /** Authorities (PEM) of the mail server besides the public ones. */
  readonly ca?: string | undefined;
  readonly maxAttempts: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "count">;
  readonly everyMs?: number | undefined;
  readonly firstWaitSeconds?: number | undefined;
}

const REFRESH_MS = 30_000;

/** Delivers what `postNotice` wrote, by mail and to the channels of tenants. */
export const createNotifications = (parts: NotificationsContext): AsyncDisposable => {
  const { channels, database, log, metrics, config } = parts;
  const readSecret = createSecretReader(parts);
  const { smtpUrl, smtpPasswordUri, mailFrom } = config;
  const sendMail =
    smtpUrl === undefined || mailFrom === undefined
      ? undefined
      : createMailer({
          url: smtpUrl,
          password: async () => (smtpPasswordUri === undefined ? undefined : readSecret((await parts.operator()) ?? "", smtpPasswordUri)),
          from: mailFrom,
          requiresTls: parts.environment === "production",
          host: new URL(parts.publicOrigin).hostname,
          ca: parts.ca,
        });
  const sinks = createDeliveries({ ...parts, readSecret, sendMail });
  const failed = (cause: unknown): void => log.warn("notifications_failed", { cause });
  const refresh = (): Promise<void> => channels.refresh(database);
  const loop = startInterval({ everyMs: REFRESH_MS, work: refresh, failed });
  refresh().catch(failed);
  const deliverer = createDeliverer({
    ...parts,
    sinks,
    ended: ({ sink }, result) => {
      if (sink !== "notice") metrics.count("notifications_total", { channel: sink, result });
      if (result === "dead") refresh().catch(failed);
    },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await deliverer[Symbol.asyncDispose]();
      await loop[Symbol.asyncDispose]();
    },
  };
};
