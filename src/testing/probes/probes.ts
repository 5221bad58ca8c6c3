import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import type { AnyProbe } from "./probe.ts";

const tables = new Map<string, Readonly<Record<string, AnyProbe>>>();
for (const topic of new Set(endpointTable.map((row) => row.topic)))
  tables.set(topic, ((await import(`./${topic}.ts`)) as { readonly probes: Readonly<Record<string, AnyProbe>> }).probes);

/** Every endpoint with its probe. */
export const probedEndpoints: readonly (EndpointRow & { readonly probe: AnyProbe })[] = endpointTable.map((row) => ({
  ...row,
  probe: tables.get(row.topic)?.[row.name] ?? {},
}));
