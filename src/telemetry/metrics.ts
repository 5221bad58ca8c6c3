import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";

/** One metric: every one of Sallyport stands in this list. Labels are closed or capped: never an id of a person or tool. */
export interface MetricRow {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
  readonly buckets?: readonly number[];
  /** Most label combinations; 1,000 unless given. What comes beyond is counted under `other`. */
  readonly cap?: number;
  /** `also`: it leaves by OTLP too; `only`: it is not in the text exposition. */
  readonly otlp?: "also" | "only";
}

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const counter = (labels: readonly string[], help: string): MetricRow => ({ kind: "counter", labels, help });
const gauge = (labels: readonly string[], help: string): MetricRow => ({ kind: "gauge", labels, help });
/** Milliseconds, for OTLP alone: Prometheus counts in seconds. */
const milliseconds = (labels: readonly string[], help: string): MetricRow => ({
  kind: "histogram",
  labels,
  help,
  buckets: seconds.map((value) => value * 1000),
  otlp: "only",
});
const timing = (labels: readonly string[], help: string): MetricRow => ({ kind: "histogram", labels, help, buckets: seconds });

/** Name -> what it is. Names with `bff_`, `http_` and `circuit_` are public and never change. */
export const metricTable = {
  http_requests_total: { ...counter(["method", "endpoint", "status"], "Requests at the gateway."), otlp: "also" },
  http_request_duration_seconds: { ...timing(["method", "endpoint"], "Time of a request at the gateway."), otlp: "also" },
  bff_active_sessions_total: gauge([], "Sessions that have not ended."),
  bff_sessions_created_total: counter([], "Sessions begun."),
  bff_sessions_destroyed_total: counter(["reason"], "Sessions ended."),
  bff_verify_duration_seconds: timing(["status"], "Time of a forward-auth check."),
  bff_oauth_flow_duration_seconds: timing(["flow_type"], "Time of a sign-in flow at the gateway."),
  bff_session_binding_failures_total: {
    ...counter(["reason"], "Requests refused because their session is bound to another network."),
    otlp: "also",
  },
  bff_token_refresh_success_total: counter(["user_id"], "Token refreshes that succeeded."),
  bff_token_refresh_failed_total: counter(["reason"], "Token refreshes that failed."),
  bff_token_refresh_total: counter(["service", "status"], "Token refreshes."),
  bff_token_exchange_total: counter(["grant_type", "status"], "Token exchanges."),
  bff_token_validation_total: counter(["token_type", "status"], "Token checks."),
  bff_token_expiry_total: counter(["service"], "Cached tokens found expired."),
  bff_authz_requests_total: counter(["resource", "action", "decision"], "Decisions asked for at the gateway."),
  bff_authz_latency_seconds: timing(["resource"], "Time of a decision as the gateway sees it."),
  bff_redis_operations_total: counter(["operation", "status"], "Redis operations."),
  bff_redis_latency_seconds: timing(["operation"], "Time of a Redis operation."),
  bff_idp_requests_total: counter(["endpoint", "status"], "Requests to the identity provider."),
  bff_idp_latency_seconds: timing(["endpoint"], "Time of a request to the identity provider."),
  bff_kafka_messages_total: counter(["topic", "status"], "Messages handed to Kafka."),
  circuit_breaker_status: gauge(["service"], "0 closed, 1 half-open, 2 open."),
  circuit_breaks_total: counter(["service"], "Times a breaker opened."),
  bff_csrf_violations_total: counter(["reason"], "Requests refused by the CSRF check."),
  bff_rate_limit_violations_total: { ...counter(["client_id"], "Requests over a rate limit."), cap: 200 },
  bff_security_events_total: counter(["event_type", "severity"], "Security events."),
  bff_background_tasks_total: counter(["task_type", "status"], "Background tasks."),
  bff_background_task_duration_seconds: timing(["task_type"], "Time of a background task."),
  bff_public_metrics_total: { ...counter(["event"], "Client metrics taken in."), cap: 100 },
  bff_forwardauth_duration_ms: milliseconds(["status"], "Time of a forward-auth check."),
  bff_session_validation_duration_ms: milliseconds(["status"], "Time to recognise a session."),
  bff_auth_requests_total: { ...counter(["auth", "status"], "Requests that were recognised, or were not."), otlp: "only" },
  bff_token_refresh_duration_ms: milliseconds(["status"], "Time of a token refresh."),
  pdp_decisions_total: counter(["type", "action", "decision", "cached"], "Decisions."),
  pdp_decision_seconds: timing(["batch"], "Time of one decision call at the decision point."),
  pdp_facts_seconds: timing([], "Time to gather facts."),
  pdp_record_seconds: timing([], "Time to record decisions."),
  pdp_policy_errors_total: counter([], "Policies that failed to evaluate."),
  pdp_shadow_total: counter(["result"], "Decisions that a version in shadow was asked too: same, different, dropped, failed."),
  pdp_remote_failures_total: counter(["kind"], "Calls of a remote decision point that brought no decision."),
  pdp_bundle_info: gauge(["version", "state"], "The policy bundle in force."),
  membership_pip_requests_total: counter(["endpoint", "source", "status"], "PIP questions."),
  membership_pip_seconds: timing(["endpoint", "source"], "Time of a PIP question."),
  membership_graph_version: gauge([], "Version of the graph."),
  membership_index_lag_versions: gauge([], "Versions that the graph in memory was behind at its last look at the database."),
  membership_index_staleness_seconds: gauge([], "How old the last look of the graph in memory was when the next one began."),
  membership_index_bytes: gauge([], "Memory of the graph in memory when it was built."),
  membership_fallback_total: counter(
    ["reason"],
    "Graph questions that the database answered because the graph in memory could not: building, loading, stale.",
  ),
  membership_writes_total: counter(["source"], "Graph versions written."),
  membership_import_lines_total: counter(["result"], "Lines of imports: written, tried, refused."),
  membership_reservations_total: counter(["result"], "Reservations by result."),
  mcp_calls_total: counter(["dialect", "outcome"], "Tool calls."),
  mcp_step_duration_seconds: timing(["step"], "Time of one step of the tool-call pipeline."),
  mcp_list_duration_seconds: timing(["dialect", "cached"], "Time of a tool list."),
  mcp_catalogue_tools: gauge(["state"], "Tools in the catalogue."),
  mcp_upstream_up: gauge(["system"], "1 if an MCP system answers."),
  workflow_runs: gauge(["phase", "reason"], "Runs of workflows that have not ended."),
  workflow_steps_total: counter(["kind", "outcome"], "Steps of workflows that ended: done, failed, unknown."),
  workflow_step_duration_seconds: timing(["kind"], "Time from a step's first entry to its end."),
  workflow_wake_lag_seconds: timing([], "Time from the moment at which a run was due until an engine claimed it."),
  workflow_claims_total: counter(["result"], "Looks for due runs: some, none."),
  workflow_lost_leases_total: counter([], "Runs whose lease another engine took, or that could not be renewed."),
  workflow_recovered_runs_total: counter([], "Runs that were claimed with a call that another engine had left open."),
  task_decisions_total: counter(["decision"], "Decisions of persons on tasks: approve, reject, submit, other."),
  tasks_open: gauge(["kind"], "Tasks that wait for a decision."),
  notifications_total: counter(["channel", "result"], "Notifications by mail and webhook: sent, skipped, retried, dead."),
  workflow_undo_total: counter(["outcome"], "Steps that were undone: done, failed, unknown."),
  secrets_operations_total: counter(["op", "provider", "outcome"], "Secret operations."),
  secrets_operation_duration_seconds: timing(["op", "provider"], "Time of a secret operation."),
  secrets_provider_requests_total: counter(["provider", "verb", "status"], "Calls of a store of secrets; status none: no answer."),
  secrets_cache_total: counter(["result"], "Values looked for in memory before the store is asked."),
  secrets_open_intents: gauge([], "Acts on stores that were left over a minute ago and whose end nobody could find out yet."),
  secrets_denied_total: counter(["purpose", "code"], "Secret operations refused."),
  gateway_connections: gauge([], "Open connections at the gateway."),
  gateway_connections_refused_total: counter(["reason"], "Connections closed as they came: too many of their address, or of all."),
  gateway_streams: gauge(["kind"], "Open streams at the gateway: relayed frame by frame, or raw."),
  events_stream_clients: gauge(["stream"], "Open event streams."),
  events_stream_sent_total: counter(["stream"], "Events sent on streams."),
  events_stream_resyncs_total: counter(["stream", "reason"], "Streams that lost their window."),
  events_outbox_pending: gauge(["sink"], "Events that wait for a sink."),
  events_outbox_oldest_seconds: gauge(["sink"], "Age of the oldest event that waits for a sink."),
  events_outbox_dead: gauge([], "Events that a sink refused for good."),
  events_delivery_seconds: timing(["sink"], "Time from an event to its arrival at a sink."),
  events_bus_fresh: gauge([], "1 if the live bus was confirmed within 3 s."),
  audit_append_seconds: timing(["phase"], "Time to append audit entries."),
  audit_open_acts: gauge([], "Acts that wait for their close."),
  audit_blocked_total: counter(["reason"], "Acts refused because they could not be recorded."),
  telemetry_dropped_total: counter(["signal"], "Spans and exports of metrics that no collector took."),
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof metricTable;
export type Labels<N extends MetricName> = Record<(typeof metricTable)[N]["labels"][number], string>;

export interface Metrics {
  count<N extends MetricName>(name: N, labels: Labels<N>, by?: number): void;
  set<N extends MetricName>(name: N, labels: Labels<N>, value: number): void;
  observe<N extends MetricName>(name: N, labels: Labels<N>, value: number): void;
  /** Tells no more of a gauge with these labels: what it was of is no more. */
  forget<N extends MetricName>(name: N, labels: Labels<N>): void;
  /** Text exposition. */
  text(): Promise<string>;
  readonly contentType: string;
}

const SERIES_CAP = 1000;

/** Gauges that the contract calls as counters are called: Prometheus' own check takes the name of what says no type, and of nothing else. */
const misnamed: readonly string[] = Object.entries<MetricRow>(metricTable)
  .filter(([name, row]) => row.kind === "gauge" && name.endsWith("_total"))
  .map(([name]) => name);

/** Also told of every value of a metric that leaves by OTLP. */
export type MetricMirror = (name: MetricName, value: number, labels: Readonly<Record<string, string>>) => void;

const makeMetric = (name: string, row: MetricRow): Counter<string> | Gauge<string> | Histogram<string> => {
  const common = { name, help: row.help, labelNames: [...row.labels], registers: [] };
  if (row.kind === "counter") return new Counter(common);
  return row.kind === "gauge" ? new Gauge(common) : new Histogram({ ...common, buckets: [...(row.buckets ?? seconds)] });
};

/** Every metric of the table is told from the start. One a process, made by instance.ts. */
export const createMetrics = (mirror?: MetricMirror): Metrics => {
  const made = new Map<string, ReturnType<typeof makeMetric>>();
  const series = new Map<string, Set<string>>();
  const metricOf = (name: MetricName): ReturnType<typeof makeMetric> => {
    const metric = made.get(name) ?? makeMetric(name, metricTable[name]);
    made.set(name, metric);
    return metric;
  };
  const register = (): Registry => {
    const registry = new Registry();
    for (const [name, { otlp }] of Object.entries<MetricRow>(metricTable))
      if (otlp !== "only") registry.registerMetric(metricOf(name as MetricName));
    return registry;
  };
  let registry: Registry | undefined;
  const keyOf = (labels: Record<string, string>): string => Object.values(labels).join("\u0000");
  const capped = (name: string, labels: Record<string, string>): Record<string, string> => {
    const key = keyOf(labels);
    const seen = series.get(name) ?? new Set<string>();
    series.set(name, seen);
    if (seen.has(key)) return labels;
    if (seen.size < ((metricTable as Readonly<Record<string, MetricRow>>)[name]?.cap ?? SERIES_CAP)) {
      seen.add(key);
      return labels;
    }
    return Object.fromEntries(Object.keys(labels).map((label) => [label, "other"]));
  };
  const note = (name: MetricName, given: Record<string, string>, value: number): void => {
    const { otlp }: MetricRow = metricTable[name];
    if (otlp === "only" && mirror === undefined) return;
    const labels = capped(name, given);
    if (otlp !== undefined) mirror?.(name, value, labels);
    if (otlp === "only") return;
    const metric = metricOf(name);
    if (metric instanceof Counter) metric.inc(labels, value);
    else if (metric instanceof Gauge) metric.set(labels, value);
    else metric.observe(labels, value);
  };
  return {
    count: (name, labels, by = 1) => note(name, labels, by),
    set: note,
    observe: note,
    forget: (name, labels) => {
      const metric = made.get(name);
      if (metric instanceof Gauge && series.get(name)?.delete(keyOf(labels)) === true) metric.remove(labels);
    },
    text: async () => {
      registry ??= register();
      let text = await registry.metrics();
      for (const name of misnamed) text = text.replace(`# TYPE ${name} gauge\n`, `# TYPE ${name} untyped\n`);
      return text;
    },
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
  };
};
