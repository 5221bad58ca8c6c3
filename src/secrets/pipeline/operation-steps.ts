import type { PipelineStep } from "#telemetry/pipeline-step.ts";

/** The steps of an operation on a secret in their order. The pipeline takes its spans from here. */
export const operationSteps = {
  parse: {
    call: "parseSecretUri",
    file: "secrets/model/secret-uri.ts",
    does: "parses the URI, which has one reading",
    refuses: ["uri_syntax", "uri_scheme"],
  },
  provider: {
    call: "requireProvider",
    file: "secrets/pipeline/pipeline.ts",
    does: "finds a provider of the scheme that is able to do it",
    refuses: ["provider_not_configured", "not_supported"],
  },
  requester: {
    call: "recognise",
    file: "secrets/pipeline/requester.ts",
    does: "reads who asks, for which purpose and for which tenant",
  },
  guard: {
    span: "tenant.guard",
    call: "guard",
    file: "secrets/model/tenant-guard.ts",
    does: "checks that the URI belongs to the tenant",
    refuses: ["tenant_mount"],
  },
  scope: {
    call: "requireScope",
    file: "authn/model/caller.ts",
    does: "requires the operation's scope",
    refuses: ["insufficient_scope"],
  },
  purpose: {
    call: "requireValueReader",
    file: "secrets/pipeline/pipeline.ts",
    does: "refuses values to agents and requires a stated purpose of persons",
    refuses: ["agent_value_denied", "purpose_required"],
  },
  authorize: {
    span: "pdp.decide",
    call: "require",
    file: "secrets/pipeline/authorize-secret.ts",
    does: "asks the decision point for each node that the operation touches, in one batch",
    refuses: ["secret_authz_failed"],
  },
  open: {
    span: "audit.open",
    call: "open",
    file: "events/audit/recorder.ts",
    does: "commits the audit entry that opens the act",
    refuses: ["audit_unavailable"],
  },
  act: {
    call: "act",
    file: "secrets/pipeline/pipeline.ts",
    does: "marks the change, then calls the provider; the span is `provider.<name>`",
    refuses: ["outcome_unknown"],
  },
  close: {
    span: "audit.close",
    call: "close",
    file: "events/audit/recorder.ts",
    does: "closes the entry with its event in one commit, also after a failure",
  },
} as const satisfies Readonly<Record<string, PipelineStep>>;
