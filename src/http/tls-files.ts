import { rootCertificates } from "node:tls";
import type { Fault } from "#contract/problem.ts";
import { StartFaults } from "#contract/start-faults.ts";
import type { HttpConfig } from "./config.ts";
import type { Tls } from "./create-server.ts";
import { faultOf, readCertificates, readKeyPair, readPrivateKey } from "./pem-files.ts";

/** What this process shows, and whom it believes among Sallyport's other services. */
export interface ServiceTls {
  /** Absent: its listeners speak plain HTTP. */
  readonly own?: Tls;
  /** PEM texts of the authorities of the others; absent: the system's. */
  readonly ca?: readonly string[];
}

/** Reads the files that the settings name, once. Throws `StartFaults` with every variable whose file cannot be used, and why. */
export const readTls = async ({ tlsCertFile, tlsKeyFile, tlsCaFile }: HttpConfig): Promise<ServiceTls> => {
  const faults: Fault[] = [];
  const note = (path: string, message: string | undefined): void => {
    if (message !== undefined) faults.push({ path, message });
  };
  const pair = tlsCertFile === undefined || tlsKeyFile === undefined ? undefined : await readKeyPair(tlsCertFile, tlsKeyFile);
  if (pair !== undefined && "faults" in pair) {
    note("TLS_CERT_FILE", pair.faults.cert);
    note("TLS_KEY_FILE", pair.faults.key);
  }
  // One without the other is told of the settings; whether it can be read, too.
  if (tlsCertFile !== undefined && tlsKeyFile === undefined) note("TLS_CERT_FILE", faultOf(await readCertificates(tlsCertFile)));
  if (tlsKeyFile !== undefined && tlsCertFile === undefined) note("TLS_KEY_FILE", faultOf(await readPrivateKey(tlsKeyFile)));
  const authority = tlsCaFile === undefined ? undefined : await readCertificates(tlsCaFile);
  if (authority !== undefined) note("TLS_CA_FILE", faultOf(authority));
  if (faults.length > 0) throw new StartFaults(faults);
  const own = pair === undefined || "faults" in pair ? undefined : pair;
  if (authority !== undefined && "text" in authority) return { own, ca: [authority.text] };
  return own === undefined ? {} : { own, ca: [...rootCertificates, own.cert] };
};
