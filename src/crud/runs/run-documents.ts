import { LRUCache } from "lru-cache";
import { Problem } from "#contract/problem.ts";
import type { ConfigStore } from "#crud/configs/config-store.ts";
import { fileOf } from "#crud/configs/config-kind.ts";
import type { PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";
import { wireNameOf } from "#crud/workflows/definition/workflow-tool.ts";
import type { FindDocument } from "#crud/workflows/engine/step-calls.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import { readVersion, type StoredVersion } from "#crud/versions/version-store.ts";
import type { Database } from "#store/database.ts";

export interface DocumentContext {
  readonly database: Database;
  readonly store: Pick<ConfigStore, "kinds" | "list" | "versions">;
  readonly placed: Pick<PlacedWorkflows, "find">;
}

/** A document and the version of the store that has it. */
export interface VersionedDocument {
  readonly document: WorkflowDocument;
  readonly configVersion: number;
  /** Schemas of forms that the input came by: what they mark as `x-redact` is sealed too. */
  readonly redactBy?: readonly unknown[];
}

const MAX_DOCUMENTS = 200;
const MAX_VERSIONS = 200;

/** Documents of workflows by their versions in the store. */
export const createRunDocuments = ({ database, store, placed }: DocumentContext) => {
  const cache = new LRUCache<string, Promise<WorkflowDocument>>({ max: MAX_DOCUMENTS });
  const parse = async ({ name, text, version, tenants }: StoredVersion): Promise<WorkflowDocument> => {
    const read = await store.kinds.workflow.read(text ?? "", fileOf("workflow", name), { tenant: tenants?.[0] ?? "" });
    if ("issues" in read) throw new Error(`version ${version} of the workflow ${name} cannot be read: ${read.issues[0]?.message ?? ""}`);
    return read.value as WorkflowDocument;
  };
  const load = (name: string, version: number): Promise<WorkflowDocument> => {
    const key = `${name} ${version}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const loading = readVersion(database, "workflow", name, version).then((row) => {
      if (row === undefined) throw new Error(`there is no version ${version} of the workflow ${name}`);
      return parse(row);
    });
    cache.set(key, loading);
    loading.catch(() => cache.delete(key));
    return loading;
  };
  const find: FindDocument = ({ name, config_version: version }) => load(name.replaceAll("_", "-"), version);
  /** What serves of a workflow. Throws `not_found`, `not_startable`. */
  const serving = (name: string, tenant: string): VersionedDocument => {
    const object = store.list("workflow", tenant).find((one) => one.name === name);
    if (object === undefined) throw new Problem("not_found");
    const document = placed.find(name)?.document;
    if (document === undefined || object.serving === null) throw new Problem("not_startable");
    return { document, configVersion: object.serving };
  };
  return {
    find,
    serving,
    /** The newest with that semantic version. Throws `not_found`. */
    ofVersion: async (name: string, version: string, tenant: string): Promise<VersionedDocument> => {
      const now = serving(name, tenant);
      if (now.document.version === version) return now;
      for (const row of await store.versions("workflow", name, tenant, { limit: MAX_VERSIONS })) {
        if (row.deleted) continue;
        const document = await load(name, row.version).catch(() => undefined);
        if (document?.version === version) return { document, configVersion: row.version };
      }
      throw new Problem("not_found", { detail: `There is no version ${version} of ${wireNameOf(name)}.` });
    },
  };
};
