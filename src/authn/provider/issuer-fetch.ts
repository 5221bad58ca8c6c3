import { readCertificates } from "#http/pem-files.ts";
import { openTrustingFetch, type TrustingFetch } from "#http/trusting-fetch.ts";
import { StartIssues } from "#contract/start-issues.ts";

/**
 * How the OpenID provider is reached, by all who ask it anything: a `fetch` that trusts the authority in a PEM file, and no other; without a
 * file those given. The file is read once. Throws `StartIssues` when it cannot be read or holds no certificate.
 */
export const openIssuerFetch = async (caFile: string | undefined, ca?: readonly string[]): Promise<TrustingFetch> => {
  if (caFile === undefined) return openTrustingFetch(ca);
  const read = await readCertificates(caFile);
  if ("issue" in read) throw new StartIssues([{ path: "OIDC_CA_FILE", message: read.issue }]);
  return openTrustingFetch([read.text]);
};
