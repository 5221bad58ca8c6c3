import type { Endpoint } from "#contract/endpoint.ts";

/** Where the gateway serves a service's path to the page. First match wins. */
const rows: readonly { readonly service: string; readonly from: string; readonly to: string }[] = [
  { service: "gateway", from: "", to: "" },
  { service: "pdp", from: "/access/v1/evaluation", to: "/access/v1/evaluation" },
  { service: "pdp", from: "/access/v1/", to: "/api/pdp/" },
  { service: "membership", from: "/api/v1/", to: "/api/membership/" },
  { service: "crud", from: "/configs/ui", to: "/api/configs/ui" },
  { service: "crud", from: "/", to: "/api/crud/" },
  { service: "secrets", from: "/api/secrets", to: "/api/secrets" },
];

/** The same endpoint under the gateway's path. */
export const throughGateway = <E extends Endpoint>(endpoint: E): E => {
  const row = rows.find((candidate) => candidate.service === endpoint.service && endpoint.path.startsWith(candidate.from));
  if (row === undefined) throw new Error(`${endpoint.service} ${endpoint.path} has no path at the gateway`);
  return { ...endpoint, path: `${row.to}${endpoint.path.slice(row.from.length)}` };
};
