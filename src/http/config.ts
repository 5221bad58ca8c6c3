import { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { setting, type SettingsOf, type SettingTable } from "#contract/setting.ts";

/** How this process is reached, and how it knows Sallyport's others. */
export const httpSettings = {
  tlsCertFile: setting("TLS_CERT_FILE", z.string().min(1).optional(), {
    description:
      "Certificate chain (PEM) of this process. With TLS_KEY_FILE every listener of it speaks HTTPS, and default addresses are https.",
  }),
  tlsKeyFile: setting("TLS_KEY_FILE", z.string().min(1).optional(), { description: "Private key (PEM) of TLS_CERT_FILE." }),
  tlsCaFile: setting("TLS_CA_FILE", z.string().min(1).optional(), {
    description:
      "Certificate authorities (PEM) of Sallyport's other services: these alone are trusted for them. Unset: the system's, and a certificate in TLS_CERT_FILE that is its own authority.",
  }),
} satisfies SettingTable;

export type HttpConfig = SettingsOf<typeof httpSettings>;

/** What no single row can say. */
export const httpIssues = (config: HttpConfig): readonly Issue[] =>
  (config.tlsCertFile === undefined) === (config.tlsKeyFile === undefined)
    ? []
    : [{ path: "TLS_CERT_FILE, TLS_KEY_FILE", message: "go together" }];
