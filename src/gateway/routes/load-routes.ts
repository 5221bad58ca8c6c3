import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Fault } from "#contract/problem.ts";
import { readSchema } from "#pdp/bundle/schema.ts";
import { pairOf } from "#pdp/pairs.ts";
import { StartFaults } from "#contract/start-faults.ts";
import { certificateFaults } from "./certificate-faults.ts";
import { readPdpConfig } from "./pdp-config.ts";
import type { Variables } from "./placeholders.ts";
import { readRouteTable, type RouteTable } from "./route-table.ts";
import { readYaml, type YamlSource } from "./yaml-source.ts";

export interface RouteFiles {
  readonly routesFile: string;
  readonly pdpConfigFile: string;
  readonly variables: Variables;
  readonly houseAudiences: readonly string[];
  readonly publicHosts: ReadonlySet<string>;
  readonly handlers: readonly string[];
  readonly isBuiltIn: (path: string) => boolean;
}

const readSource = async (
  file: string,
): Promise<{ readonly text: string; readonly source?: YamlSource; readonly faults: readonly Fault[] }> => {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return { text: "", faults: [{ path: "", message: `cannot be read (${code})`, file, line: 1, column: 1 }] };
  }
  return { text, ...readYaml(text, file) };
};

/**
 * The pairs that may be asked: the house's own words, and those that the schema of the configured policies adds. A schema
 * that cannot be read adds none; the decision point itself names its faults.
 */
const vocabularyOf = async (pdpConfigFile: string, policyDir: string | undefined): Promise<(pair: string) => boolean> => {
  const file = policyDir === undefined ? undefined : join(resolve(dirname(pdpConfigFile), policyDir), "schema.cedarschema");
  const text = file === undefined ? undefined : await readFile(file, "utf8").catch(() => undefined);
  let actions: ReadonlySet<string> | undefined;
  const added = (): ReadonlySet<string> => {
    // The schema is read by the engine's own parser, which costs its start: only where a word is none of the house's.
    actions ??= new Set(text === undefined ? [] : readSchema(text, [])?.actions.keys());
    return actions;
  };
  return (pair) => {
    const cut = pair.indexOf("/");
    const [type, action] = [pair.slice(0, cut), pair.slice(cut + 1)];
    return pairOf(type, action) !== undefined || added().has(`${type}:${action}`);
  };
};

/** Reads the route table and the decision point's mappings. Throws `StartFaults` with every fault of both files. */
export const loadRoutes = async (files: RouteFiles): Promise<{ readonly table: RouteTable; readonly warnings: readonly Fault[] }> => {
  const [routes, pdp] = await Promise.all([readSource(files.routesFile), readSource(files.pdpConfigFile)]);
  const config = pdp.source === undefined ? undefined : readPdpConfig(pdp.source);
  const faults = [...routes.faults, ...pdp.faults, ...(config?.faults ?? [])];
  if (routes.source === undefined || config?.config === undefined) throw new StartFaults(faults);
  const read = readRouteTable({
    ...files,
    source: routes.source,
    text: `${routes.text}\0${pdp.text}`,
    knowsPair: await vocabularyOf(files.pdpConfigFile, config.config.policyDir),
    pdp: config.config,
  });
  if (!("table" in read)) throw new StartFaults([...faults, ...read.faults]);
  faults.push(...(await certificateFaults(read.table.services.values(), routes.source)));
  if (faults.length > 0) throw new StartFaults(faults);
  return { table: read.table, warnings: read.warnings };
};
