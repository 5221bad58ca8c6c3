import type { Issue } from "#contract/problem.ts";
import { fileOf, isOwn, type ConfigKind, type Place, type Preparation, type ReadDocument } from "#crud/configs/config-kind.ts";
import { systemOfTool } from "#crud/configs/publish-scope.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import { checkForm } from "#crud/forms/definition/check-form.ts";
import type { FormDocument } from "#crud/forms/definition/form-document.ts";
import { formShape } from "#crud/forms/definition/form-shape.ts";
import type { PlacedForms } from "#crud/forms/definition/placed-forms.ts";
import { readForm } from "#crud/forms/definition/read-form.ts";
import type { PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";

export interface FormKindSources {
  readonly catalogue: Pick<CatalogueKeeper, "snapshot">;
  readonly placed: PlacedWorkflows;
  readonly forms: PlacedForms;
}

const open = ({ catalogue, placed, forms }: FormKindSources, readDocument: ReadDocument<FormDocument>): Preparation => {
  const place = (id: string, form: FormDocument | undefined): Place => ({
    preview: () => catalogue.snapshot,
    place: () => forms.place(id, form),
  });
  const prepare: Preparation["prepare"] = async ({ name: given, text, tenant }) => {
    const read = await readDocument(text, given === undefined ? "form.yaml" : fileOf("form", given), { tenant });
    if ("issues" in read) return { name: read.name ?? given ?? "", issues: read.issues };
    const { value: form, yaml } = read;
    if (given !== undefined && given !== form.id)
      return { name: given, issues: [yaml.issue(["id"], `must be ${given}, as the file and the address have it`)] };
    return {
      ...place(form.id, form),
      name: form.id,
      yaml,
      refs: {},
      about: { title: form.title },
      tenants: form.tenants,
      issues: [],
      isOff: false,
      hosts: [],
      secrets: [],
      stdioServers: [],
      check: async ({ tenant: of, tenantsOfSystem, isComing }): Promise<readonly Issue[]> => {
        const { snapshot } = catalogue;
        const mayCome = (kind: "tool" | "workflow", name: string): boolean => {
          if (kind === "workflow") return isComing?.("workflow", name) === true;
          const system = systemOfTool(name);
          const tenants = tenantsOfSystem(system);
          return (
            tenants !== undefined && tenants?.includes(of) !== false && !snapshot.tools.keys().some((one) => systemOfTool(one) === system)
          );
        };
        const wall = yaml.issue(["tenants"], "is of other tenants too", { code: "cross_tenant", hint: `tenants: [${of}]` });
        return [...(isOwn(form.tenants, of) ? [] : [wall]), ...checkForm(form, yaml, { snapshot, workflows: placed, tenant: of, mayCome })];
      },
      discard: () => undefined,
    };
  };
  return { absent: (id) => place(id, undefined), prepare, prepareHealthy: prepare };
};

/** Forms: `forms/<id>.yaml`. */
export const formKind: ConfigKind<FormDocument, FormKindSources> & { readonly kind: "form" } = {
  kind: "form",
  manual: {
    title: "Forms",
    about:
      "`config/forms/<id>.yaml`, one file a form: how people fill in the arguments of a tool, the input of a workflow or the data of a task. " +
      "A form lays out and labels; it never takes what its target refuses.",
    shown: ["config/demo/forms/update_salary.yaml", "config/demo/forms/grant_access_start.yaml"],
  },
  schema: { "": formShape },
  reach: "edit_systems",
  refusal: "invalid_definition",
  read: readForm,
  open,
};
