import { addressFault } from "./address-fault.ts";
import { fillPlaceholders, type Variables } from "./placeholders.ts";
import type { ServiceShape } from "./route-row.ts";

/** An upstream that rows may name. */
export interface RouteService {
  readonly name: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly audience: string | undefined;
  /** True: a service of this house; it gets a token that the gateway signs for each call. */
  readonly isHouse: boolean;
  readonly caFile: string | undefined;
  readonly clientCertFile: string | undefined;
  readonly clientKeyFile: string | undefined;
  readonly pool: number;
}

export type AddFault = (at: readonly PropertyKey[], message: string) => void;

/** Checks one entry of `services` and fills its placeholders. Faults go to `add`; the answer counts only without any. */
export const readService = (
  name: string,
  shape: ServiceShape,
  context: { readonly variables: Variables; readonly houseAudiences: readonly string[]; readonly add: AddFault },
): RouteService => {
  const at = ["services", name];
  const fill = (text: string, where: readonly PropertyKey[]): string => {
    const filled = fillPlaceholders(text, context.variables);
    for (const variable of filled.unset) context.add([...at, ...where], `\${${variable}} is not set, or not one that this file may name`);
    return filled.text;
  };
  const optional = (key: "audience" | "ca_file"): string | undefined => {
    const text = shape[key];
    return text === undefined ? undefined : fill(text, [key]);
  };
  const before = shape.base_urls[0] ?? "";
  const address = fill(before, ["base_urls", 0]);
  const fault = address.includes("${") ? undefined : addressFault(address);
  if (fault !== undefined) context.add([...at, "base_urls", 0], `${fault}`);
  if ((shape.client_cert_file === undefined) !== (shape.client_key_file === undefined))
    context.add(at, "client_cert_file and client_key_file go together");
  const audience = optional("audience");
  return {
    name,
    baseUrl: address.replace(/\/$/, ""),
    audience,
    isHouse: audience !== undefined && context.houseAudiences.includes(audience),
    caFile: optional("ca_file"),
    clientCertFile: shape.client_cert_file,
    clientKeyFile: shape.client_key_file,
    pool: shape.pool,
  };
};
