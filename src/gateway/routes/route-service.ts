import { isTlsOrLoopback } from "#contract/loopback.ts";
import { addressIssue } from "./address-issue.ts";
import { fillPlaceholders, hasPlaceholder, type Variables } from "./placeholders.ts";
import { DEFAULT_POOL, DEFAULT_QUEUE, type ServiceShape } from "./route-row.ts";

/** An upstream that rows may name. */
export interface RouteService {
  readonly name: string;
  /** Where it is, at one address or several; none with a trailing slash. Never empty. */
  readonly baseUrls: readonly string[];
  readonly audience: string | undefined;
  /** True: a service of this deployment; it gets a token that the gateway signs for each call. */
  readonly isInternal: boolean;
  readonly caFile: string | undefined;
  readonly clientCertFile: string | undefined;
  readonly clientKeyFile: string | undefined;
  /** Requests under way at each address. */
  readonly pool: number;
  /** Requests that may wait for one of those places, at most a second each. */
  readonly queue: number;
}

/** A service of this deployment at the address that the settings say, where no file says more. */
export const internalService = (name: string, url: string): RouteService => ({
  name,
  baseUrls: [url.replace(/\/$/, "")],
  audience: undefined,
  isInternal: true,
  caFile: undefined,
  clientCertFile: undefined,
  clientKeyFile: undefined,
  pool: DEFAULT_POOL,
  queue: DEFAULT_QUEUE,
});

export type AddIssue = (at: readonly PropertyKey[], message: string) => void;

/** Checks one entry of `services` and fills its placeholders. Issues go to `add`; the answer counts only without any. */
export const readService = (
  name: string,
  shape: ServiceShape,
  context: {
    readonly variables: Variables;
    readonly internalAudiences: readonly string[];
    readonly requiresTls?: boolean;
    readonly add: AddIssue;
  },
): RouteService => {
  const at = ["services", name];
  const fill = (text: string, where: readonly PropertyKey[]): string =>
    fillPlaceholders(text, context.variables, (message) => context.add([...at, ...where], message));
  const optional = (key: "audience" | "ca_file"): string | undefined => {
    const text = shape[key];
    return text === undefined ? undefined : fill(text, [key]);
  };
  const baseUrls = shape.base_urls.map((text, index) => {
    const address = fill(text, ["base_urls", index]);
    const issue = hasPlaceholder(address) ? undefined : addressIssue(address);
    if (issue !== undefined) context.add([...at, "base_urls", index], issue);
    else if (context.requiresTls === true && !hasPlaceholder(address) && !isTlsOrLoopback(address))
      context.add([...at, "base_urls", index], "must be https unless on loopback, where ENVIRONMENT is production");
    return address.replace(/\/$/, "");
  });
  for (const [index, address] of baseUrls.entries())
    if (baseUrls.indexOf(address) !== index) context.add([...at, "base_urls", index], "is named twice");
  for (const key of ["client_cert_file", "client_key_file"] as const)
    if (hasPlaceholder(shape[key] ?? "")) context.add([...at, key], "placeholders are not allowed here");
  if ((shape.client_cert_file === undefined) !== (shape.client_key_file === undefined))
    context.add(at, "client_cert_file and client_key_file go together");
  const audience = optional("audience");
  return {
    name,
    baseUrls,
    audience,
    isInternal: audience !== undefined && context.internalAudiences.includes(audience),
    caFile: optional("ca_file"),
    clientCertFile: shape.client_cert_file,
    clientKeyFile: shape.client_key_file,
    pool: shape.pool,
    queue: shape.queue,
  };
};
