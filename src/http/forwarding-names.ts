/** What servers before us tell of a request: what was asked for, by which name and scheme, and who asked. Some name it each their own way. */
const prefixes = [
  "x-forwarded",
  "x-original",
  "x-rewrite",
  "x-replaced",
  "x-request-ur",
  "x-envoy-",
  "x-auth-request",
  "x-waws-",
  "x-http-method",
  "x-method-override",
  "x-real-ip",
] as const;

const names: ReadonlySet<string> = new Set([
  "forwarded",
  "via",
  "client-ip",
  "true-client-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "cf-connecting-ip",
  "fastly-client-ip",
  "x-host",
  "x-scheme",
  "x-url-scheme",
  "front-end-https",
]);

/** A header's name, in lower case, as a careless server would spell it to itself. */
export const plainName = (name: string): string => name.replace(/[_.]/g, "-");

/** Whoever names a place in a header of its own making means what was asked for: `x-ms-original-url`, `request-uri`, `script-name`. */
const place = /(?:^|-)(?:ur[il]|path|path-info|script-name|accel-redirect)$/;

/** True for a name, as `plainName` gives it, that tells of a request what only a trusted server may tell. */
export const isForwardingName = (plain: string): boolean => names.has(plain) || prefixes.some((prefix) => plain.startsWith(prefix));

/** Whether any of these names, in lower case, tells such a thing, or names a place in a way of its own. */
export const hasForwarding = (headerNames: Iterable<string>): boolean =>
  [...headerNames].map(plainName).some((name) => isForwardingName(name) || place.test(name));
