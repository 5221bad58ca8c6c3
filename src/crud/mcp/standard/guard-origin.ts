import { Problem } from "#contract/problem.ts";

/**
 * A page of another site that has rebound its name to this machine still sends its own Host and Origin. Requests that came
 * in this process carry no Host and were checked at the ingress.
 */
export const createOriginGuard = (options: {
  readonly urls: readonly string[];
  readonly origins: readonly string[];
}): ((request: Request) => void) => {
  const hosts = new Set(options.urls.map((url) => new URL(url).hostname));
  if ([...hosts].some((host) => host === "localhost" || host === "127.0.0.1" || host === "[::1]")) {
    for (const host of ["localhost", "127.0.0.1", "[::1]"]) hosts.add(host);
  }
  const origins = new Set([...options.urls, ...options.origins].map((url) => new URL(url).origin));
  const hostOf = (header: string): string | undefined => URL.parse(`http://${header}`)?.hostname;
  return (request) => {
    const host = request.headers.get("host");
    if (host !== null && !hosts.has(hostOf(host) ?? "")) throw new Problem("forbidden", { detail: "This host is not served here." });
    const origin = request.headers.get("origin");
    if (origin !== null && !origins.has(origin)) throw new Problem("forbidden", { detail: "Pages of this origin may not call." });
  };
};
