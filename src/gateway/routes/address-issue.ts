import { isIP } from "node:net";
import { isIn, listOf, metadataNetworks } from "#http/addresses.ts";

/** Addresses that hand out a machine's own credentials, or that only look like a name. */
const refused = listOf(...metadataNetworks, "0.0.0.0/8", "fe80::/10", "::");

const metadataNames: ReadonlySet<string> = new Set(["metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"]);

/**
 * What is wrong with the address of an upstream, or `undefined`: only http or https, no user, query or fragment, no
 * link-local, metadata or integer-form address. Names are not resolved: an upstream's name is the operator's word.
 */
export const addressIssue = (text: string): string | undefined => {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must be http or https";
  if (url.username !== "" || url.password !== "") return "must not hold a user or password";
  if (url.search !== "" || url.hash !== "" || text.includes("?") || text.includes("#")) return "must not hold a query or fragment";
  const written = /^https?:\/\/(\[[^\]]*\]|[^/:]*)/i.exec(text)?.[1] ?? "";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) === 4 && written !== host) return "must write an IPv4 address as four decimal numbers";
  if (isIn(refused, host)) return "is a link-local or metadata address";
  if (metadataNames.has(host.toLowerCase().replace(/\.$/, ""))) return "is a metadata address";
  return undefined;
};
