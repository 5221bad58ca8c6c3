import type { PartName } from "./command-line.ts";

/** Where everything is: origins, service addresses (each is its audience too), ports. */
export interface HouseAddresses {
  readonly publicOrigin: string;
  /** The public origin and its two loopback spellings. */
  readonly publicOrigins: readonly string[];
  readonly issuer: string;
  readonly services: {
    readonly gateway: string;
    readonly pdp: string;
    readonly crud: string;
    readonly membership: string;
    readonly secrets: string;
  };
  readonly people: string;
  readonly ports: Readonly<Record<PartName | "people", number>>;
}

/** Ports count up from the gateway's. */
const offsets = { gateway: 0, issuer: 1, pdp: 2, crud: 3, membership: 4, secrets: 5, people: 10 } as const;

const trimmed = (url: string): string => url.replace(/\/$/, "");

export const addressesOf = (given: {
  readonly port: number;
  readonly publicOrigins: readonly string[];
  readonly issuer: string | undefined;
  readonly pdpUrl: string | undefined;
  readonly crudUrl: string | undefined;
  readonly membershipUrl: string | undefined;
  readonly secretsUrl: string | undefined;
}): HouseAddresses => {
  const ports = Object.fromEntries(Object.entries(offsets).map(([part, offset]) => [part, given.port + offset])) as HouseAddresses["ports"];
  const at = (part: keyof typeof offsets, url?: string): string => trimmed(url ?? `http://localhost:${ports[part]}`);
  const publicOrigins =
    given.publicOrigins.length > 0
      ? given.publicOrigins.map(trimmed)
      : ["localhost", "127.0.0.1", "[::1]"].map((host) => `http://${host}:${given.port}`);
  const publicOrigin = publicOrigins[0] ?? at("gateway");
  return {
    publicOrigin,
    publicOrigins,
    issuer: given.issuer ?? at("issuer"),
    services: {
      gateway: publicOrigin,
      pdp: at("pdp", given.pdpUrl),
      crud: at("crud", given.crudUrl),
      membership: at("membership", given.membershipUrl),
      secrets: at("secrets", given.secretsUrl),
    },
    people: `http://127.0.0.1:${ports.people}`,
    ports,
  };
};
