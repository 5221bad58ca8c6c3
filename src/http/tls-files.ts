import { rootCertificates } from "node:tls";
import type { Issue } from "#contract/problem.ts";
import { StartIssues } from "#contract/start-issues.ts";
import type { HttpConfig } from "./config.ts";
import type { Tls } from "./create-server.ts";
import { issueOf, readCertificates, readKeyPair, readPrivateKey } from "./pem-files.ts";

/** What this process shows, and whom it believes among Sallyport's other services. */
export interface ServiceTls {
  /** Absent: its listeners speak plain HTTP. */
  readonly own?: Tls;
  /** PEM texts of the authorities of the others; absent: the system's. */
  readonly ca?: readonly string[];
}

/** Reads the files that the settings name, once. Throws `StartIssues` with every variable whose file cannot be used, and why. */
export const readTls = async ({ tlsCertFile, tlsKeyFile, tlsCaFile }: HttpConfig): Promise<ServiceTls> => {
  const issues: Issue[] = [];
  const note = (path: string, message: string | undefined): void => {
    if (message !== undefined) issues.push({ path, message });
  };
  const pair = tlsCertFile === undefined || tlsKeyFile === undefined ? undefined : await readKeyPair(tlsCertFile, tlsKeyFile);
  if (pair !== undefined && "issues" in pair) {
    note("TLS_CERT_FILE", pair.issues.cert);
    note("TLS_KEY_FILE", pair.issues.key);
  }
  // One without the other is told of the settings; whether it can be read, too.
  if (tlsCertFile !== undefined && tlsKeyFile === undefined) note("TLS_CERT_FILE", issueOf(await readCertificates(tlsCertFile)));
  if (tlsKeyFile !== undefined && tlsCertFile === undefined) note("TLS_KEY_FILE", issueOf(await readPrivateKey(tlsKeyFile)));
  const authority = tlsCaFile === undefined ? undefined : await readCertificates(tlsCaFile);
  if (authority !== undefined) note("TLS_CA_FILE", issueOf(authority));
  if (issues.length > 0) throw new StartIssues(issues);
  const own = pair === undefined || "issues" in pair ? undefined : pair;
  if (authority !== undefined && "text" in authority) return { own, ca: [authority.text] };
  return own === undefined ? {} : { own, ca: [...rootCertificates, own.cert] };
};
