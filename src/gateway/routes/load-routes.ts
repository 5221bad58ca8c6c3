import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Issue } from "#contract/problem.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { pairOf } from "#pdp-client/pairs.ts";
import { readYaml, type ReadYaml, type YamlDocument } from "#parsing/yaml-document.ts";
import { issueOf, readCertificates, readKeyPair } from "#http/pem-files.ts";
import { readPdpConfig } from "./pdp-config.ts";
import type { RouteService } from "./route-service.ts";
import { readRouteTable, type RouteTable, type TableContext } from "./route-table.ts";

export interface RouteFiles extends TableContext {
  readonly routesFile: string;
  readonly pdpConfigFile: string;
  /** Ids of the actions that a policy schema declares, `<type>:<action>`. */
  readonly schemaActions: (text: string) => ReadonlySet<string>;
}

const readSource = async (file: string): Promise<ReadYaml & { readonly text: string }> => {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    return { text: "", issues: [{ path: "", message: `cannot be read (${code})`, file, line: 1, column: 1 }] };
  }
  return { text, ...readYaml(text, file) };
};

/**
 * The pairs that may be asked: Sallyport's own words, and those that the schema of the configured policies adds. A schema
 * that cannot be read adds none; the decision point itself names its issues.
 */
const vocabularyOf = async (
  { pdpConfigFile, schemaActions }: RouteFiles,
  policyDir: string | undefined,
): Promise<(pair: string) => boolean> => {
  const file = policyDir === undefined ? undefined : join(resolve(dirname(pdpConfigFile), policyDir), "schema.cedarschema");
  const text = file === undefined ? undefined : await readFile(file, "utf8").catch(() => undefined);
  let actions: ReadonlySet<string> | undefined;
  const added = (): ReadonlySet<string> => {
    // The schema is read by the engine's own parser, which costs its start: only where a word is none of Sallyport's.
    actions ??= text === undefined ? new Set() : schemaActions(text);
    return actions;
  };
  return (pair) => {
    const cut = pair.indexOf("/");
    const [type, action] = [pair.slice(0, cut), pair.slice(cut + 1)];
    return pairOf(type, action) !== undefined || added().has(`${type}:${action}`);
  };
};

/** What is wrong with the files by which services are known and the gateway to them: each with its place in the route file. */
const certificateIssues = async (services: Iterable<RouteService>, source: YamlDocument): Promise<readonly Issue[]> => {
  const issues: Issue[] = [];
  for (const service of services) {
    const note = (key: string, message: string | undefined): void => {
      if (message !== undefined) issues.push(source.issue(["services", service.name, key], message));
    };
    if (service.caFile !== undefined) note("ca_file", issueOf(await readCertificates(service.caFile)));
    if (service.clientCertFile === undefined || service.clientKeyFile === undefined) continue;
    const pair = await readKeyPair(service.clientCertFile, service.clientKeyFile);
    if (!("issues" in pair)) continue;
    note("client_cert_file", pair.issues.cert);
    note("client_key_file", pair.issues.key);
  }
  return issues;
};

/** Reads the route table and the decision point's mappings. Throws `StartIssues` with every issue of both files. */
export const loadRoutes = async (files: RouteFiles): Promise<{ readonly table: RouteTable; readonly warnings: readonly Issue[] }> => {
  const [routes, pdp] = await Promise.all([readSource(files.routesFile), readSource(files.pdpConfigFile)]);
  const config = pdp.document === undefined ? undefined : readPdpConfig(pdp.document);
  const issues = [...routes.issues, ...pdp.issues, ...(config?.issues ?? [])];
  if (routes.document === undefined || config?.config === undefined) throw new StartIssues(issues);
  const read = readRouteTable({
    ...files,
    source: routes.document,
    text: `${routes.text}\0${pdp.text}`,
    knowsPair: await vocabularyOf(files, config.config.policyDir),
    pdp: config.config,
  });
  if (!("table" in read)) throw new StartIssues([...issues, ...read.issues]);
  issues.push(...(await certificateIssues(read.table.services.values(), routes.document)));
  if (issues.length > 0) throw new StartIssues(issues);
  return { table: read.table, warnings: read.warnings };
};
