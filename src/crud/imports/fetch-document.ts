import { MAX_IMPORT_BYTES } from "#contract/imports.ts";
import { Problem } from "#contract/problem.ts";
import { gatherBytes } from "#http/read-bytes.ts";
import type { Claim } from "#http/shares.ts";
import { AddressRefused, createGuardedAgent } from "#crud/upstream/guarded-agent.ts";
import { parseNetworks, type NetworkCeiling } from "#crud/upstream/network-rules.ts";

const DEADLINE_MS = 30_000;
/** Somebody before the host, or a place where they would stand; an `@` in the path names nobody. */
const namesUser = (text: string): boolean => /^https?:[\\/]*[^\\/?#]*@/i.test(text.trim());
const wrongUrl = (message: string): Problem => new Problem("unprocessable", { errors: [{ path: "/url", message }] });

/** Why an address is not dialled, and what makes it one that is. */
const whyRefused = (reason: AddressRefused["reason"]): string => {
  if (reason === "not_found") return "has a name that is not known";
  const way = reason === "not_public" ? ": name its network in allow (10.1.0.0/16), or send the document itself" : "";
  return `may not be dialled (${reason})${way}`;
};

const beyondShare = (): Problem =>
  new Problem("rate_limited", {
    detail: "Too many bytes of documents and answers of your tenant, or of all tenants, are in use now.",
    headers: { "retry-after": "10" },
  });

/**
 * Fetches a document under the rules of a system's network: the address that is dialled is the one that was judged, no redirect, nothing but bytes.
 * Its bytes are of `claim`. Throws `unprocessable`, `upstream_error`, `upstream_timeout`, `body_too_large`, `rate_limited`.
 */
export const fetchDocument = async (
  text: string,
  options: {
    readonly allow: readonly string[];
    readonly internalPorts: ReadonlySet<number>;
    readonly ceiling: NetworkCeiling;
    readonly claim: Claim;
    readonly signal: AbortSignal;
    readonly deadlineMs?: number;
  },
): Promise<Uint8Array> => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw wrongUrl("must be an https URL");
  if (url.username !== "" || url.password !== "" || namesUser(text)) throw wrongUrl("names a user");
  const { blocks, issues } = parseNetworks(options.allow, options.ceiling);
  if (issues.length > 0) throw new Problem("unprocessable", { errors: issues.map(({ message }) => ({ path: "/allow", message })) });
  const agent = createGuardedAgent({ rules: { allow: blocks, ceiling: options.ceiling, internalPorts: options.internalPorts } });
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.deadlineMs ?? DEADLINE_MS)]);
  try {
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: "GET",
      headers: { accept: "application/json, application/yaml;q=0.9, */*;q=0.5", "accept-encoding": "identity" },
      signal,
    });
    if (response.statusCode !== 200) {
      await response.body.dump({ limit: 65_536 });
      throw wrongUrl(response.statusCode < 400 ? "redirects: name the address that it leads to" : `answers ${response.statusCode}`);
    }
    const encoding = response.headers["content-encoding"] ?? "identity";
    if (encoding !== "identity") {
      await response.body.dump({ limit: 65_536 });
      throw wrongUrl("answers compressed, which nobody asked for: name an address that does not");
    }
    const tooLarge = (): Problem => new Problem("body_too_large", { detail: "The document has more than 32 MiB." });
    return await gatherBytes(response.body, MAX_IMPORT_BYTES, tooLarge, (_all, bytes) => {
      if (!options.claim.take(bytes)) throw beyondShare();
      return undefined;
    });
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    if (cause instanceof AddressRefused) throw wrongUrl(whyRefused(cause.reason));
    if (signal.aborted) throw new Problem("upstream_timeout", { cause });
    throw new Problem("upstream_error", { detail: "The document cannot be fetched.", cause });
  } finally {
    void agent.close().catch(() => undefined);
  }
};
