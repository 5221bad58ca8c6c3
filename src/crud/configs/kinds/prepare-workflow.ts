import type { Issue } from "#contract/problem.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import {
  fileOf,
  isOwn,
  type Document,
  type Place,
  type Preparation,
  type Prepared,
  type ReadDocument,
  type Refused,
} from "#crud/configs/config-kind.ts";
import type { PublishScope } from "#crud/configs/publish-scope.ts";
import { checkWorkflow, workflowWarnings, type WorkflowWorld } from "#crud/workflows/definition/check-workflow.ts";
import { compareVersions } from "#crud/workflows/definition/compare-versions.ts";
import type { PlacedWorkflow, PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";
import { createWorkflowTool, type StartWorkflow } from "#crud/workflows/definition/workflow-tool.ts";
import type { WorkflowDocument } from "#crud/workflows/model/workflow-document.ts";
import type { createOwnerCheck } from "./system-owner.ts";

export interface WorkflowSources extends Pick<WorkflowWorld, "hasForm"> {
  readonly catalogue: Pick<CatalogueKeeper, "preview" | "snapshot">;
  readonly ownerIssues: ReturnType<typeof createOwnerCheck>;
  readonly placed: PlacedWorkflows;
  /** What starts runs. */
  readonly start: StartWorkflow;
}

/** How workflows are prepared, checked beside the tools and the graph, and placed. */
export const prepareWorkflows = (sources: WorkflowSources, readDocument: ReadDocument<WorkflowDocument>): Preparation => {
  const { catalogue, placed, start, hasForm } = sources;
  const place = (name: string, workflow: PlacedWorkflow | undefined): Place => ({
    preview: () => catalogue.preview({ workflows: () => placed.preview(name, workflow) }),
    place: () => placed.place(name, workflow),
  });
  const ownerIssues = async (owner: string, at: Issue, { tenant, correlationId }: PublishScope): Promise<readonly Issue[]> =>
    (await sources.ownerIssues({ owner, at, tenant, correlationId })).map((issue) => ({ ...issue, code: "owner_unknown" }));
  const prepare = async ({ name: given, text, tenant }: Document): Promise<Prepared | Refused> => {
    const shown = given === undefined ? "workflow.yaml" : fileOf("workflow", given);
    const read = await readDocument(text, shown, { tenant });
    if ("issues" in read) {
      const { issues, name = given ?? "", owner } = read;
      return { name, issues, ...(owner === undefined ? {} : { check: (by) => ownerIssues(owner.owner, owner.at, by) }) };
    }
    const { value: document, yaml } = read;
    const { name, owner, title } = document;
    if (given !== undefined && given !== name)
      return {
        name: given,
        issues: [yaml.issue(["document", "name"], `must be ${given}, as the file and the address have it`, { code: "bad_name" })],
      };
    const tool = createWorkflowTool(document, start);
    const tenants = document.tenant === undefined ? null : [document.tenant];
    const worldOf = (of: string): WorkflowWorld => ({ snapshot: catalogue.snapshot, tenant: of, hasForm });
    /** What a new version must be beside the one that serves. */
    const versionIssues = ({ isRollback = false }: PublishScope): readonly Issue[] => {
      const before = placed.find(name);
      if (before === undefined || before.text === text) return [];
      const path = ["document", "version"];
      const order = compareVersions(document.version, before.document.version);
      if (order < 0 && !isRollback) {
        const message = `is lower than ${before.document.version}, which serves`;
        return [yaml.issue(path, message, { code: "version_not_higher" })];
      }
      const message = `${document.version} is there with other content: a change has a higher version`;
      return order === 0 ? [yaml.issue(path, message, { code: "version_exists" })] : [];
    };
    return {
      ...place(name, { document, text, tool }),
      name,
      yaml,
      refs: {},
      about: { title, owner },
      tenants,
      issues: [],
      isOff: false,
      hosts: [],
      secrets: [],
      stdioServers: [],
      check: async (by) => {
        const own = by.tenant.replace(/^tenant:/, "");
        const wall = yaml.issue(["document", "namespace"], "is of other tenants too", { code: "cross_tenant", hint: `namespace: ${own}` });
        return [
          ...(isOwn(tenants, by.tenant) ? [] : [wall]),
          ...versionIssues(by),
          ...(await ownerIssues(owner, yaml.issue(["document", "metadata", "owner"], ""), by)),
          ...(await checkWorkflow(document, yaml, {
            ...worldOf(by.tenant),
            tenantsOfSystem: by.tenantsOfSystem,
            hasForm: hasForm && ((id, of) => hasForm(id, of) || by.isComing?.("form", id) === true),
          })),
        ];
      },
      warnings: (next, of) => workflowWarnings(document, yaml, { ...worldOf(of), snapshot: next }),
      discard: () => undefined,
    };
  };
  return { absent: (name) => place(name, undefined), prepare, prepareHealthy: prepare };
};
