import type { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { readSecret, readSecretValue, writeSecret } from "#contract/secrets.ts";
import type { ProviderAbility } from "./providers/secret-provider.ts";
import { schemeNames, type Scheme } from "./uri-schemes.ts";

/** What somebody wants of a secret: `execute` = a service of the house uses the value and shows it to nobody. */
export type Purpose = "read" | "execute" | "write";

/** One row an operation: who may ask for what, and who can do it. */
export interface Operation {
  readonly op: string;
  readonly endpoint: Endpoint<z.ZodType, z.ZodType, z.ZodType, z.ZodType>;
  readonly scope: string;
  /** The first is the purpose unless the caller is a workload, which takes the second where there is one. */
  readonly purposes: readonly [Purpose, Purpose?];
  /** Schemes that the operation is for at all; another one is `not_supported` even when configured. */
  readonly schemes: readonly Scheme[];
  readonly ability: ProviderAbility;
  readonly takesVersion: boolean;
  /** The value leaves: agents are refused, persons state a purpose, reads of one caller are limited in rate. */
  readonly showsValue: boolean;
  readonly event: string;
}

export const operations = {
  write: {
    op: "write",
    endpoint: writeSecret,
    scope: "secrets.write",
    purposes: ["write"],
    schemes: schemeNames,
    ability: "write",
    takesVersion: false,
    showsValue: false,
    event: "secrets.updated",
  },
  read: {
    op: "read",
    endpoint: readSecret,
    scope: "secrets.read",
    purposes: ["read"],
    schemes: ["yaml"],
    ability: "read_plain",
    takesVersion: true,
    showsValue: true,
    event: "secrets.read",
  },
  value: {
    op: "value",
    endpoint: readSecretValue,
    scope: "secrets.read",
    purposes: ["read", "execute"],
    schemes: schemeNames,
    ability: "read_value",
    takesVersion: true,
    showsValue: true,
    event: "secrets.read",
  },
} as const satisfies Record<string, Operation>;

/** The decision point's word for a purpose. */
export const actionOf = (purpose: Purpose): string => (purpose === "execute" ? "use" : purpose);
