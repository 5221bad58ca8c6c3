import type { PipelineStep } from "#telemetry/pipeline-step.ts";

/** The steps of a PIP query in their order. The span of the whole is `pip.<name>`. */
export const querySteps = {
  scope: {
    call: "tenantScopeOf",
    file: "membership/graph/tenant-scope.ts",
    does: "reads the tenant that the caller asks in",
    refuses: ["tenant_required"],
  },
  guard: {
    call: "guard",
    file: "membership/pip/serve-pip.ts",
    does: "lets services ask about anybody, others about themselves",
    refuses: ["insufficient_scope", "access_denied"],
  },
  ask: {
    call: "askAtLeast",
    file: "membership/pip/answer.ts",
    does: "asks the graph one bounded question, at the version that the caller demands",
    refuses: ["graph_behind", "graph_unavailable"],
  },
  answer: {
    call: "pipAnswer",
    file: "membership/pip/answer.ts",
    does: "answers with the graph's version, an entity tag and the moment until when it holds",
  },
} as const satisfies Readonly<Record<string, PipelineStep>>;
