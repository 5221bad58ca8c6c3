import { sseHeaders } from "#http/sse.ts";

/** A directive with its value: a token, or a quoted text in which a comma separates nothing (RFC 9111, section 5.2). */
const DIRECTIVES = /(?:[^",]|"(?:[^"\\]|\\.)*")+/g;
/** No upstream that is well needs as much; a longer one is not taken apart. */
const MAX_LENGTH = 1024;

const nameOf = (directive: string): string => (directive.split("=", 1)[0] ?? "").trim().toLowerCase();

/** What only shared caches read, or what is said anew here. */
const dropped: ReadonlySet<string> = new Set(["public", "private", "no-store", "s-maxage", "proxy-revalidate"]);

/**
 * `Cache-Control` of an answer that a person or client was recognised for: always with `private` or `no-store`, so that no
 * shared cache keeps it, whatever the upstream said. `private="name"` spares one header alone and counts as the whole.
 * An answer whose upstream said nothing that a browser may keep it by is `no-store`.
 */
export const personalCacheControl = (given: string | null): string => {
  if (given === null || given.length > MAX_LENGTH) return "no-store";
  const directives = (given.match(DIRECTIVES) ?? []).map((one) => one.trim()).filter((one) => one !== "");
  const names = new Set(directives.map(nameOf));
  const kept = directives.filter((one) => !dropped.has(nameOf(one)));
  const isForBrowsers = kept.length > 0 || names.has("public") || names.has("private");
  return [names.has("no-store") || !isForBrowsers ? "no-store" : "private", ...kept].join(", ");
};

/** Rules for caches between here and the client, where they go before `Cache-Control` (RFC 9213 and its kin). */
export const isSharedCacheRule = (name: string): boolean =>
  name.endsWith("-cache-control") || name === "surrogate-control" || name === "edge-control" || name === "x-accel-expires";

/** Headers of an event stream of one person: requests for it are never folded into one on the way. */
export const personalSseHeaders: Readonly<Record<string, string>> = {
  ...sseHeaders,
  "cache-control": personalCacheControl(sseHeaders["cache-control"] ?? null),
};
