import { createYielding } from "#http/yielding.ts";
import type { Issue } from "#contract/problem.ts";
import { findView, systemsIn } from "#crud/tools/views.ts";
import {
  emptyToolsDocument,
  joinToolsDocuments,
  readToolsDocument,
  toolsDocument,
  type ToolsDocument,
} from "#crud/documents/tools-document.ts";
import { isFor } from "#crud/tools/catalogue.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import { fileOf, isOwn, type ConfigKind, type Place, type Preparation, type ReadDocument } from "#crud/configs/config-kind.ts";
import { systemOfTool, UNSEEN } from "#crud/configs/publish-scope.ts";
import { createTenantShare } from "./tenant-share.ts";

const PIECE_MS = 8;

export interface ToolsKindParts {
  readonly catalogue: Pick<CatalogueKeeper, "preview" | "snapshot">;
  /** Of the folders behind the first one. */
  readonly layer: ToolsDocument;
  readonly hold: (document: ToolsDocument) => void;
  readonly held: () => ToolsDocument;
}

const open = (parts: ToolsKindParts, readDocument: ReadDocument<ToolsDocument>): Preparation => {
  const { catalogue, layer } = parts;
  const place = (own: ToolsDocument): Place => {
    const { document } = joinToolsDocuments([{ value: own }, { value: layer }]);
    return { preview: () => catalogue.preview({ document: () => document }), place: () => parts.hold(document) };
  };
  const prepare: Preparation["prepare"] = async ({ text, tenant }) => {
    const read = await readDocument(text, fileOf("tools", "tools"), { tenant });
    if ("issues" in read) return { name: "tools", ...read };
    const { value, yaml } = read;
    // Views of the further folders come first here: it is this document that names one of them twice.
    const { issues } = joinToolsDocuments([{ value: layer }, read]);
    if (issues.length > 0) return { name: "tools", issues, found: yaml.value };
    return {
      ...place(value),
      name: "tools",
      yaml,
      refs: {},
      tenants: null,
      issues: [],
      about: {},
      isOff: false,
      hosts: [],
      secrets: [],
      stdioServers: [],
      check: async (by) => {
        const short = [...value.views.entries()].filter(([, { prefix }]) => prefix === "none");
        const tools = short.length === 0 ? [] : [...place(value).preview().tools.values()];
        const unclear: Issue[] = [];
        const turn = createYielding(PIECE_MS);
        for (const [index, { filters, tenants }] of short) {
          await turn();
          const systems = systemsIn(tools, filters, tenants);
          const said = `needs tools of one system alone: these are of ${systems.map((name) => name.slice(0, -1)).join(", ")}`;
          if (systems.length > 1) unclear.push(yaml.issue(["views", index, "prefix"], said));
        }
        if (unclear.length > 0) return unclear;
        const before = parts.held();
        const viewsOf = ({ views }: ToolsDocument) => new Map(views.map((view) => [view.name, view]));
        const [had, has] = [viewsOf(before), viewsOf({ ...value, views: [...value.views, ...layer.views] })];
        const reported: Issue[] = [];
        const tell = (path: readonly (string | number)[], what: string): void => {
          const more = { code: "cross_tenant", hint: `tenants: [${by.tenant}]` };
          reported.push(yaml.issue(path, `${what} other tenants of this deployment too`, more));
        };
        for (const name of new Set([...had.keys(), ...has.keys()])) {
          const both = [had.get(name), has.get(name)];
          if (JSON.stringify(both[0]) === JSON.stringify(both[1])) continue;
          // A view that exists by itself is somebody's too.
          const replaced = both[0] === undefined ? findView(catalogue.snapshot.views, name, by.tenant) : undefined;
          const isWalled = [...both, replaced].every(
            (view) => view === undefined || (view.tenants.length > 0 && isOwn(view.tenants, by.tenant)),
          );
          const index = value.views.findIndex((view) => view.name === name);
          if (!isWalled) tell(["views", ...(index === -1 ? [] : [index, "tenants"])], `changes the view ${name}, which is for`);
        }
        const all = { ...layer.overrides, ...value.overrides };
        for (const name of new Set([...Object.keys(before.overrides), ...Object.keys(all)])) {
          if (JSON.stringify(before.overrides[name]) === JSON.stringify(all[name])) continue;
          const tool = catalogue.snapshot.tools.get(name);
          const tenants = tool === undefined ? by.tenantsOfSystem(systemOfTool(name)) : (tool.tenants ?? null);
          // It would be in force the moment that another tenant publishes such a system.
          if (tenants === undefined) reported.push(yaml.issue(["overrides", name], UNSEEN, { code: "cross_tenant" }));
          else if (!isOwn(tenants, by.tenant)) tell(["overrides", name], `changes ${name}, which serves`);
        }
        return reported;
      },
      warnings: (next, tenant) =>
        [...next.views.values()].flatMap((view) => {
          const isSeen = view.tenants.length === 0 || view.tenants.includes(tenant);
          const out = view.cut.filter((tool) => isSeen && isFor(tool, tenant));
          return out.length > 0 ? [`The view ${view.name} leaves out ${out.length} tools, the last by name.`] : [];
        }),
      discard: () => undefined,
    };
  };
  return { absent: () => place(emptyToolsDocument), prepare, prepareHealthy: prepare };
};

/** The one tools document, `tools.yaml`: views and overrides; what further folders add to it stays theirs. */
export const toolsKind: ConfigKind<ToolsDocument, ToolsKindParts> & { readonly kind: "tools" } = {
  kind: "tools",
  manual: {
    title: "Views and tools",
    about: "`config/tools.yaml`: views of the catalogue, and what is said otherwise of single tools.",
    shown: ["config/tools.yaml", "config/demo/tools.yaml"],
  },
  schema: { "": toolsDocument },
  reach: "edit_views",
  read: readToolsDocument,
  share: createTenantShare,
  open,
};
