import type { InstanceSettings } from "./settings.ts";

/** Where everything is: origins, service addresses (each is its audience too), ports. */
export type ServiceAddresses = Readonly<ReturnType<typeof addressesOf>>;

/** Ports count up from the gateway's. */
export const portOffsets = { gateway: 0, issuer: 1, pdp: 2, crud: 3, membership: 4, secrets: 5, people: 10 } as const;
type Part = keyof typeof portOffsets;

/** As browsers and the standard write it: without the port that the scheme has anyway. */
const originAt = (scheme: string, host: string, port: number): string => new URL(`${scheme}://${host}:${port}`).origin;

const trimmed = (url: string): string => url.replace(/\/$/, "");

/** `port`: the gateway's. */
export const addressesOf = (port: number, { gateway, authn, instance, http }: InstanceSettings) => {
  const ports = Object.fromEntries(Object.entries(portOffsets).map(([part, offset]) => [part, port + offset])) as Record<Part, number>;
  const scheme = http.tlsCertFile === undefined ? "http" : "https";
  const at = (part: Part, url?: string): string => trimmed(url ?? originAt(scheme, "localhost", ports[part]));
  /** Unless set the public origin and its two loopback spellings. */
  const publicOrigins: readonly string[] =
    gateway.publicOrigins.length > 0
      ? gateway.publicOrigins.map(trimmed)
      : ["localhost", "127.0.0.1", "[::1]"].map((host) => originAt(scheme, host, port));
  const publicOrigin = publicOrigins[0] ?? at("gateway");
  const services = {
    gateway: publicOrigin,
    pdp: at("pdp", instance.pdpUrl),
    crud: at("crud", instance.crudUrl),
    membership: at("membership", instance.membershipUrl),
    secrets: at("secrets", instance.secretsUrl),
  };
  const { people, ...own } = ports;
  // A port that no address names is that of every other server too.
  const named = [...publicOrigins, ...Object.values(services)].map((url) => Number(new URL(url).port)).filter((one) => one > 0);
  return {
    publicOrigin,
    publicOrigins,
    issuer: authn.oidcIssuer ?? at("issuer"),
    services,
    people: `http://127.0.0.1:${people}`,
    ports,
    /** Ports that no system may dial on an address that is not public: of this process, and of the services wherever they are. */
    internalPorts: new Set([...Object.values(own), ...named]),
  };
};
