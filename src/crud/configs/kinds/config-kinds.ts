import { configObjectKinds, type ConfigObjectKind } from "#contract/configs.ts";
import type { ConfigKind, OpenKind } from "#crud/configs/config-kind.ts";
import { createDocumentReader } from "./document-reader.ts";
import { notificationsKind, type ChannelSources } from "./notifications-kind.ts";
import { systemKind, type SystemKindParts } from "./system-kind.ts";
import { formKind, type FormKindSources } from "./form-kind.ts";
import { toolsKind, type ToolsKindParts } from "./tools-kind.ts";
import type { WorkflowSources } from "./prepare-workflow.ts";
import { workflowKind } from "./workflow-kind.ts";

type KindParts = SystemKindParts & ToolsKindParts & WorkflowSources & FormKindSources & ChannelSources;

/** Every kind of configuration object. */
export const configKinds: { readonly [Kind in ConfigObjectKind]: ConfigKind<unknown, KindParts> & { readonly kind: Kind } } = {
  system: systemKind,
  workflow: workflowKind,
  form: formKind,
  notifications: notificationsKind,
  tools: toolsKind,
};

/** The kinds as this process serves them. */
export const openConfigKinds = (parts: KindParts): Readonly<Record<ConfigObjectKind, OpenKind>> => {
  const reader = createDocumentReader();
  const openOne = (kind: ConfigObjectKind): OpenKind => {
    const declared = configKinds[kind];
    const read = reader(declared);
    return { ...declared, ...declared.open(parts, read), read };
  };
  return Object.fromEntries(configObjectKinds.map((kind) => [kind, openOne(kind)])) as Record<ConfigObjectKind, OpenKind>;
};
