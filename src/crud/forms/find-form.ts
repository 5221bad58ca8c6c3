import { Problem } from "#contract/problem.ts";
import { isObject } from "#contract/is-object.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { findTool, isFor, type Snapshot } from "#crud/tools/catalogue.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { targetSchema, workflowNameOf } from "#crud/forms/definition/check-form.ts";
import type { FormDocument } from "#crud/forms/definition/form-document.ts";
import { withoutHints } from "#crud/forms/definition/form-fields.ts";
import { narrowSchema } from "#crud/forms/definition/narrow-schema.ts";
import type { PlacedForms } from "#crud/forms/definition/placed-forms.ts";
import type { PlacedWorkflows } from "#crud/workflows/definition/placed-workflows.ts";

/** Who fills a form in, by which request. */
export interface FormCaller {
  readonly caller: Caller;
  readonly correlationId: string;
}

/** What a form is wanted for; one of them. */
export interface FormSource {
  readonly tool?: string | undefined;
  readonly workflow?: string | undefined;
  readonly task?: string | undefined;
  readonly form?: string | undefined;
}

/** A task as far as a form is made for it. */
export interface FormOfTask {
  readonly title: string;
  readonly form: string | null;
  /** What it is filled in with before. */
  readonly data: unknown;
}

export interface FormSources {
  readonly catalogue: { readonly snapshot: Snapshot };
  readonly workflows: PlacedWorkflows;
  readonly forms: PlacedForms;
  readonly pdpClient: Pick<PdpClient, "require">;
  /** Whether somebody else's server gives the tool: hints in its schema are dropped. */
  readonly isForeign: (tool: Tool) => boolean;
  /** Undefined: the caller sees no such task. */
  readonly taskForm: (id: string, by: FormCaller) => Promise<FormOfTask | undefined>;
}

/** A form as it is filled in. */
export interface FoundForm {
  readonly form: FormDocument | undefined;
  readonly target: FormDocument["target"];
  readonly title: string;
  readonly description: string | undefined;
  /** With hints. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Variables of the expressions of a form. */
export const scopeOf = ({ caller: { sub, agent, tenant } }: Pick<FormCaller, "caller">, now: Date) => ({
  caller: { sub, agent: agent ?? null, tenant },
  now,
});

/** Finds forms for callers. */
export const createFindForm = (parts: FormSources) => {
  const { catalogue, workflows, forms } = parts;
  const wideOf = (target: FormDocument["target"], tenant: string): Readonly<Record<string, unknown>> | undefined => {
    const { snapshot } = catalogue;
    if (target === undefined) return {};
    const schema = targetSchema(target, { snapshot, workflows, tenant });
    const tool = "tool" in target ? snapshot.tools.get(target.tool) : undefined;
    return tool !== undefined && parts.isForeign(tool) ? (withoutHints(schema) as typeof schema) : schema;
  };
  /** Of a form whose target is away its own schema alone. */
  const ofForm = (form: FormDocument, tenant: string): FoundForm => ({
    form,
    target: form.target,
    title: form.title,
    description: form.description,
    schema: narrowSchema(wideOf(form.target, tenant) ?? {}, form.schema),
    data: {},
  });
  const ofTarget = (
    target: NonNullable<FormDocument["target"]>,
    about: { title: string; description: string },
    tenant: string,
  ): FoundForm => {
    const form = forms.findFor(target, tenant);
    return form !== undefined ? ofForm(form, tenant) : { form, target, ...about, schema: wideOf(target, tenant) ?? {}, data: {} };
  };
  const find = async (source: FormSource, by: FormCaller): Promise<FoundForm | undefined> => {
    const { tenant } = by.caller;
    if (source.form !== undefined) {
      const form = forms.find(source.form, tenant);
      return form && ofForm(form, tenant);
    }
    if (source.tool !== undefined) {
      const tool = findTool(catalogue.snapshot, source.tool);
      if (tool === undefined || !isFor(tool, tenant)) return undefined;
      const { title = tool.name, description } = tool.definition;
      return ofTarget({ tool: tool.name }, { title, description }, tenant);
    }
    if (source.workflow !== undefined) {
      const workflow = workflowNameOf(source.workflow);
      const document = workflows.find(workflow)?.document;
      if (document === undefined || wideOf({ workflow }, tenant) === undefined) return undefined;
      return ofTarget({ workflow }, { title: document.title, description: document.summary }, tenant);
    }
    const task = await parts.taskForm(source.task ?? "", by);
    if (task === undefined) return undefined;
    const form = task.form === null ? undefined : forms.find(task.form, tenant);
    const found =
      form === undefined
        ? { form, target: undefined, title: task.title, description: undefined, schema: { type: "object" } }
        : ofForm(form, tenant);
    return { ...found, data: isObject(task.data) ? task.data : {} };
  };
  /** What is not there, and what is another tenant's, is decided like all else before. Throws `access_denied`, `not_found`. */
  return async (source: FormSource, by: FormCaller): Promise<FoundForm> => {
    await parts.pdpClient.require(
      by.caller,
      { type: "forms", action: "view", id: source.form ?? source.tool ?? source.workflow ?? source.task ?? "" },
      by.correlationId,
    );
    const found = await find(source, by);
    if (found === undefined) throw new Problem("not_found");
    return found;
  };
};
