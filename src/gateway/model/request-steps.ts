import type { PipelineStep } from "#telemetry/pipeline-step.ts";

/** The steps of a request to a row of the route table in their order. The pipeline takes its spans from here. */
export const requestSteps = {
  frame: {
    call: "guardFrame",
    file: "gateway/ingress/frame.ts",
    does: "accepts a head that has one reading",
    refuses: ["bad_framing", "ambiguous_headers"],
  },
  canonicalise: {
    call: "canonicalise",
    file: "gateway/model/canonical-path.ts",
    does: "turns the raw target into its one path and query",
    refuses: ["ambiguous_target"],
  },
  load: {
    call: "guardLoad",
    file: "gateway/pipeline/pipeline.ts",
    does: "refuses what exceeds the share of an address or the capacity of the process",
    refuses: ["rate_limited", "overloaded"],
  },
  match: {
    span: "gateway.match",
    call: "find",
    file: "gateway/routes/route-table.ts",
    does: "finds the rows of the path; without one the web client answers",
    refuses: ["not_found"],
  },
  choose: {
    call: "requireRows",
    file: "gateway/routes/choose-route.ts",
    does: "chooses the row by method and kind of credential",
    refuses: ["method_not_allowed"],
  },
  recognise: {
    span: "gateway.recognise",
    call: "recognise",
    file: "gateway/steps/recognise.ts",
    does: "finds the session or the bearer, and checks the CSRF token of a session",
    refuses: ["unauthenticated", "invalid_token", "csrf_failed"],
  },
  limit: {
    call: "requireByCaller",
    file: "gateway/steps/rate-limit.ts",
    does: "takes one request of the caller's rate; rows that count by address do so before",
    refuses: ["rate_limited"],
  },
  reveal: {
    call: "guard",
    file: "gateway/steps/guard-reveal.ts",
    does: "refuses plain secret values where showing them is switched off",
    refuses: ["reveal_disabled"],
  },
  authorize: {
    span: "pdp.decide",
    call: "decide",
    file: "gateway/steps/authorize-route.ts",
    does: "asks the decision point the question that the row maps from the request",
    refuses: ["access_denied", "step_up_required", "decision_unavailable"],
  },
  internal: {
    span: "gateway.inside",
    call: "handler",
    file: "gateway/compose/internal-handlers.ts",
    does: "answers itself, where the row's target is `internal`",
  },
  proxy: {
    span: "gateway.proxy",
    isAlternative: true,
    call: "proxy",
    file: "gateway/proxy/proxy.ts",
    does: "passes the request to the upstream with the row's token policy; relays event streams",
    refuses: ["upstream_unavailable", "upstream_timeout"],
  },
} as const satisfies Readonly<Record<string, PipelineStep>>;
