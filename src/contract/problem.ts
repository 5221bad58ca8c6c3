/**
 * Every refusal and failure that Sallyport can answer: one closed list of codes, each with its HTTP status, its
 * JSON-RPC code (where it can be the answer of a tool call) and its title. RFC 9457 (problem+json), JSON-RPC 2.0.
 */

interface CodeRow {
  readonly status: number;
  readonly title: string;
  /** JSON-RPC error code of the contract's dialect; absent = -32603. */
  readonly rpc?: number;
  /** Of a tool call: a part of Sallyport is unavailable (HTTP 503), or the upstream failed and not Sallyport. */
  readonly fails?: "internal" | "upstream";
}

const row = (status: number, title: string, rpc?: number): CodeRow => (rpc === undefined ? { status, title } : { status, title, rpc });
const internal = (title: string): CodeRow => ({ status: 503, title, fails: "internal" });
const upstream = (status: number, title: string): CodeRow => ({ status, title, fails: "upstream" });

const uriIssue = (title: string): CodeRow => row(400, title);

export const problemCodes = {
  // 400: unreadable or ambiguous
  bad_framing: row(400, "The request is not well-formed HTTP"),
  ambiguous_target: row(400, "The request target has more than one reading"),
  ambiguous_headers: row(400, "The request headers have more than one reading"),
  ambiguous_credentials: row(400, "Send a cookie or a bearer token, not both"),
  ambiguous_query: row(400, "A query parameter is repeated"),
  body_not_allowed: row(400, "This method takes no body"),
  body_unreadable: row(400, "The body is not readable JSON", -32700),
  body_ambiguous: row(400, "The body repeats a member"),
  duplicate_member: row(400, "The body repeats a member"),
  duplicate_key: row(400, "Two items have the same key"),
  invalid_request: row(400, "The request is not understood", -32600),
  invalid_query: row(400, "A query parameter is wrong"),
  invalid_limit: row(400, "The limit is out of range", -32602),
  invalid_cursor: row(400, "The cursor is not one of ours, or too old", -32602),
  reserved_resource_id: row(400, "The resource id is reserved"),
  reserved_context_member: row(400, "The context has a member that only the server may set"),
  invalid_page_token: row(400, "The page token is not one of ours, or too old"),
  bad_return_to: row(400, "return_to is no page of this site"),
  login_failed: row(400, "The sign-in did not succeed"),
  idempotency_key_required: row(400, "This call needs an Idempotency-Key"),
  if_match_required: row(400, "This call needs If-Match"),
  ambiguous: row(400, "The request fits more than one thing"),
  same_resource: row(400, "Source and target are the same"),
  version_conflict: row(400, "The version in the URI and the parameter differ"),
  query_repeated: row(400, "A query parameter is repeated"),
  query_unknown: row(400, "A query parameter is unknown"),
  query_encoding: row(400, "A query parameter is not well encoded"),
  value_too_deep: row(400, "The value is nested too deeply"),
  purpose_required: row(400, "State a purpose of 10 to 200 characters"),
  uri_required: uriIssue("A secret URI is required"),
  uri_type: uriIssue("A secret URI is text"),
  uri_too_long: uriIssue("The secret URI is too long"),
  uri_control: uriIssue("The secret URI holds a control character or stray space"),
  uri_syntax: uriIssue("The secret URI is malformed"),
  uri_scheme: uriIssue("The secret URI's scheme is unknown"),
  uri_authority: uriIssue("The secret URI's mount is wrong"),
  uri_path_empty: uriIssue("The secret URI has no path"),
  uri_percent: uriIssue("The secret URI's path may not be percent-encoded"),
  uri_empty_segment: uriIssue("The secret URI has an empty segment"),
  uri_dot_segment: uriIssue("The secret URI has a dot segment"),
  uri_segment: uriIssue("The secret URI has a character that a segment may not hold"),
  uri_segment_reserved: uriIssue("The secret URI has a reserved segment"),
  uri_key: uriIssue("The secret URI's key is malformed"),
  uri_key_empty: uriIssue("The secret URI's key is empty"),
  uri_key_encoding: uriIssue("The secret URI's key is not well encoded"),
  uri_key_reserved: uriIssue("The secret URI's key is reserved"),
  uri_query: uriIssue("The secret URI's query is wrong"),
  uri_query_repeated: uriIssue("The secret URI's version is repeated"),
  uri_version: uriIssue("The secret URI's version is wrong"),
  uri_version_unsupported: uriIssue("This provider has no versions"),
  uri_version_not_allowed: uriIssue("No version may be named here"),

  // 401, 403: who, and may they
  unauthenticated: row(401, "Sign in first"),
  invalid_token: row(401, "The token is not valid here"),
  no_token_available: row(401, "No token can be passed on"),
  session_required: row(401, "A session is required"),
  session_binding: row(401, "The session does not belong to this client"),
  step_up_required: row(401, "A stronger sign-in is required", -32001),
  insufficient_scope: row(403, "The token lacks a scope", -32001),
  access_denied: row(403, "Not allowed", -32001),
  denied: row(403, "Not allowed", -32001),
  forbidden: row(403, "Not allowed", -32001),
  csrf_failed: row(403, "The request did not come from this site's own page"),
  no_mapping: row(403, "No decision is defined for this route"),
  identity_rejected: row(403, "The identity cannot be used here"),
  unknown_person: row(403, "Nobody here knows you yet"),
  step_up_not_met: row(403, "The sign-in was not strong enough"),
  unknown_client: row(403, "The client is not registered"),
  untrusted_proxy: row(403, "Forwarding headers from an untrusted peer"),
  tenant_required: row(403, "The token names no tenant"),
  tenant_mount: row(403, "The mount is not this tenant's"),
  tenant_mismatch: row(403, "The tenant is not this service's"),
  secret_authz_failed: row(403, "Not allowed"),
  separation_of_duties: row(403, "Others decide this"),
  person_required: row(403, "A person does this in person"),
  agent_value_denied: row(403, "Agents do not read secret values"),
  reveal_disabled: row(403, "Reveal is switched off"),
  obligation_unsupported: row(403, "An obligation cannot be met", -32001),
  provider_denied: row(403, "The store does not let Sallyport do this"),
  provider_readonly: row(403, "The file provider is read-only here"),
  subject_unresolved: row(403, "The subject is unknown", -32001),
  resource_unresolved: row(403, "The resource is unknown", -32001),
  resource_id_required: row(403, "The resource needs an id", -32001),
  unknown_action: row(403, "The action is unknown", -32001),
  delegation_required: row(403, "No person has delegated this", -32001),
  delegation_inactive: row(403, "The delegation is not active", -32001),
  capability_missing: row(403, "The delegation does not cover this tool", -32001),
  chain_not_eligible: row(403, "The tool's application is not within reach", -32001),
  steps_exhausted: row(403, "No steps are left", -32001),
  budget_exhausted: row(403, "The budget is used up", -32001),
  definition_drifted: row(403, "The tool's definition changed", -32001),
  approval_required: row(403, "An approval is required", -32001),
  approval_invalid: row(403, "The approval does not fit", -32001),
  not_granted: row(403, "Nothing grants this", -32001),
  tool_disabled: row(403, "The tool is switched off", -32001),
  tool_quarantined: row(403, "The tool is in quarantine", -32001),

  // 404, 405, 406, 408, 409, 412 - 417, 421, 422, 429
  not_found: upstream(404, "Not there, or not for you"),
  unknown_view: row(404, "There is no such view"),
  unknown_tool: row(404, "There is no such tool here", -32601),
  unknown_method: row(404, "There is no such method", -32601),
  secret_not_found: row(404, "There is no such secret"),
  key_not_found: row(404, "There is no such key"),
  version_not_found: row(404, "There is no such version"),
  version_deleted: row(404, "The version is deleted; it can be restored"),
  version_destroyed: row(404, "The version is destroyed"),
  unknown_task: row(404, "There is no such task, or not for you"),
  method_not_allowed: row(405, "The method is not allowed here"),
  not_acceptable: row(406, "Nothing acceptable can be sent"),
  request_timeout: row(408, "The request took too long to arrive"),
  conflict: upstream(409, "It clashes with what is there"),
  already_exists: row(409, "It is there already"),
  idempotency_conflict: row(409, "The key was used for something else", -32602),
  already_decided: row(409, "The task is decided"),
  wrong_phase: row(409, "The run is in another phase"),
  in_progress: row(409, "The first call is still running", -32602),
  reply_withheld: row(409, "It was done; its answer cannot be shown now", -32001),
  cycle: row(409, "It would close a ring"),
  in_use: row(409, "It is in use"),
  ambiguous_name: row(409, "Several have this name"),
  managed_elsewhere: row(409, "It is kept elsewhere"),
  has_edges: row(409, "Something hangs on it"),
  last_controller: row(409, "Nobody would control the agent"),
  last_administrator: row(409, "The tenant would have no administrator who can sign in"),
  delegation_ended: row(409, "The delegation has ended"),
  reservation_closed: row(409, "The reservation was closed differently"),
  what_if_stale: row(409, "The graph moved since the what-if"),
  rate_exceeded: row(409, "Too many steps a minute", -32001),
  call_limit_exceeded: row(409, "One call may not cost so much", -32001),
  outside_hours: row(409, "The delegation does not hold at this hour", -32001),
  budget_in_use: row(409, "More than that is used, held or lent"),
  cas_mismatch: row(409, "Somebody else wrote first"),
  target_exists: row(409, "There is something at the target"),
  source_changed: row(409, "The source changed meanwhile"),
  plan_stale: row(409, "The plan no longer fits"),
  policy_invalid: row(409, "The policies have issues"),
  cases_failed: row(409, "Cases of the policies fail"),
  matrix_not_acknowledged: row(409, "The difference of the matrix was not acknowledged"),
  not_a_draft: row(409, "Only a draft can be dropped"),
  not_replayable: row(409, "What it was decided on is not kept"),
  duplicate_request: row(409, "It was asked for already"),
  invalid_task_state: row(409, "The task is no longer in a state for this"),
  file_invalid: row(409, "The secrets file cannot be read"),
  task_expired: row(410, "The task has expired"),
  not_startable: row(409, "The workflow cannot be started now"),
  version_exists: row(409, "The version is there with other content"),
  stale_version: row(412, "It changed since you read it"),
  body_too_large: row(413, "The body is too large"),
  too_large: row(413, "The message is too large"),
  too_many_evaluations: row(413, "Too many evaluations"),
  target_too_long: row(414, "The request target is too long"),
  unsupported_media_type: row(415, "The content type is not supported"),
  expectation_failed: row(417, "The expectation cannot be met"),
  misdirected_host: row(421, "This host is not served here"),
  invalid_body: row(422, "The body does not fit its schema", -32602),
  idempotency_mismatch: row(422, "The key was used with other data", -32602),
  invalid_input: row(422, "The data does not fit the workflow's input", -32602),
  invalid_arguments: row(422, "Invalid arguments", -32602),
  invalid_params: row(422, "Invalid params", -32602),
  expression_limit: upstream(422, "An expression takes too much work"),
  mapping_error: row(422, "The tool's mapping gives nothing to decide on", -32602),
  unknown_parameter: row(422, "A parameter is unknown"),
  unknown_member: row(422, "A member is unknown"),
  routes_invalid: row(422, "The route table has issues; the one in force stays"),
  too_old: row(422, "The log does not go back so far"),
  invalid_definition: row(422, "The definition has issues"),
  state_version_required: row(422, "State the version that you have read"),
  decision_not_allowed: row(422, "The decision is none of this task's"),
  delegated_already: row(422, "The task is passed on already"),
  version_not_higher: row(422, "The version is lower than the one in force"),
  unprocessable: row(422, "Well-formed, but wrong"),
  invalid_denial_binding: row(422, "The request does not fit the denial that it names"),
  agent_uncontrolled: row(422, "The agent has no controller"),
  edge_not_allowed: row(422, "An edge of this kind cannot join these two"),
  label_mismatch: row(422, "The label is not the actor's"),
  digest_mismatch: row(422, "The digest is not the definition's"),
  import_refused: row(422, "The file has issues"),
  schema_refused: row(422, "The schema is not taken"),
  cross_tenant: row(422, "It would cross tenants"),
  too_many: row(422, "Too many"),
  sensitive_key: row(422, "The payload names personal data or a secret"),
  fragment_not_allowed: row(422, "No key may be named here"),
  versions_required: row(422, "Name 1 to 100 versions"),
  owner_invalid: row(422, "The owner has no such form"),
  copy_shape: row(422, "A map does not fit under a key"),
  value_shape: row(422, "The value has the wrong shape"),
  value_too_large: row(422, "The value is too large"),
  headers_too_large: row(431, "The headers are too large"),
  rate_limited: row(429, "Too many requests"),
  too_many_streams: row(429, "Too many streams"),
  too_many_sessions: row(429, "Too many sessions"),

  // 5xx
  internal: row(500, "Something went wrong"),
  not_supported: row(501, "Not with this provider"),
  provider_not_configured: row(501, "The provider is not configured"),
  connector_not_available: row(501, "The connector is not available"),
  pdp_bad_answer: row(502, "The decision point answered wrongly"),
  provider_error: row(502, "The store answered with an error"),
  provider_redirect: row(502, "The store sends elsewhere"),
  copy_unverified: row(502, "The copy could not be verified"),
  upstream_error: upstream(502, "The upstream answered with an error"),
  upstream_bad_response: upstream(502, "The upstream answered wrongly"),
  upstream_tls_failed: upstream(502, "The upstream's certificate is not trusted"),
  upstream_auth_failed: upstream(502, "No token could be had for the upstream"),
  upstream_outcome_unknown: row(502, "It was sent; whether it was done is unknown"),
  output_invalid: upstream(502, "The upstream's output does not fit its schema"),
  output_too_large: upstream(502, "The upstream's output is too large"),
  data_scope_unavailable: upstream(502, "The rows could not be filtered"),
  overloaded: row(503, "Too much at once"),
  web_client_missing: row(503, "The web client is not built"),
  decision_unavailable: internal("No decision can be had"),
  decision_not_recorded: internal("The decision could not be recorded"),
  kill_switch_unknown: internal("What is switched off cannot be read"),
  engine_failed: internal("The engine failed"),
  pdp_unavailable: internal("The decision point is not available"),
  audit_unavailable: internal("The act cannot be recorded"),
  membership_unavailable: internal("Membership is not available"),
  secrets_unavailable: internal("Secrets are not available"),
  session_store_unavailable: row(503, "The session store is not available"),
  identity_provider_unavailable: row(503, "The identity provider is not available"),
  upstream_unavailable: upstream(503, "The upstream is not available"),
  upstream_circuit_open: upstream(503, "The upstream rests after failures"),
  store_unavailable: internal("The database is not available"),
  graph_unavailable: internal("The graph is not available"),
  graph_busy: row(503, "The graph is being written all the time"),
  narrow_the_search: row(503, "The search finds too much"),
  graph_behind: row(503, "The graph has not reached that version"),
  ledger_inconsistent: internal("The delegation's ledger does not add up"),
  budget_unavailable: internal("The budgets are not available"),
  provider_unavailable: row(503, "The provider is not available"),
  event_backlog_full: internal("Too many events wait"),
  stopping: internal("Sallyport is stopping"),
  busy: row(503, "Busy, try again"),
  upstream_timeout: upstream(504, "The upstream did not answer in time"),
  outcome_unknown: upstream(504, "It was sent; whether it was done is unknown"),
} as const satisfies Record<string, CodeRow>;

export type ProblemCode = keyof typeof problemCodes;

/** One issue of the input. `path` is a JSON Pointer into the body, or `query.<name>`, `header.<name>`, a variable. */
export interface Issue {
  readonly path: string;
  readonly message: string;
  readonly code?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

/** Members that RFC 9457 and Sallyport give every body their meaning: none of a problem's own may take their place. */
export const standardMembers = ["type", "title", "status", "detail", "instance", "code", "correlation_id", "errors"] as const;
type StandardMember = (typeof standardMembers)[number];

export interface ProblemOptions {
  /** May be shown to the caller: never a secret, a token or the text that was refused. */
  readonly detail?: string;
  /** All of them, in their order; the first 50 are kept. */
  readonly errors?: readonly Issue[];
  /** Further members of the body, e.g. `decision_id`, `reason`, `step_up`. Wire names; never a standard one. */
  readonly members?: Readonly<Record<string, unknown>> & { readonly [name in StandardMember]?: never };
  /** URI of the kind of problem, where a profile of a standard names its own. */
  readonly type?: string;
  /**
   * Status instead of the code's own, where one word has two: a reservation refuses as a conflict (409) what a call refuses as forbidden (403),
   * a tool call as a limit of its caller (429) what the gateway refuses as its own (503).
   */
  readonly status?: 409 | 429;
  /** Headers of the answer, e.g. `www-authenticate`, `retry-after`, `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Only logged. */
  readonly cause?: unknown;
}

/** Most issues that a problem lists, and most characters of a place that it names: what is refused is not answered at greater length than it was sent. */
export const MAX_ISSUES = 50;
const MAX_PATH = 512;

const listed = (errors: readonly Issue[]): readonly Issue[] =>
  errors
    .slice(0, MAX_ISSUES)
    .map((issue) => (issue.path.length > MAX_PATH ? { ...issue, path: `${issue.path.slice(0, MAX_PATH)}…` } : issue));

/** Options as they are kept: at most so many issues, and how many more there were. */
const bounded = (options: ProblemOptions): ProblemOptions => {
  if (options.errors === undefined) return options;
  const more = options.errors.length - MAX_ISSUES;
  const errors = listed(options.errors);
  if (more <= 0) return { ...options, errors };
  return { ...options, errors, detail: `${options.detail === undefined ? "" : `${options.detail} `}${more} more issues are not listed.` };
};

/** Thrown where the fact is known, translated once at the edge. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly options: ProblemOptions;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(options.detail ?? problemCodes[code].title, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.options = bounded(options);
  }

  get status(): number {
    return this.options.status ?? problemCodes[this.code].status;
  }

  get title(): string {
    return problemCodes[this.code].title;
  }

  /** JSON-RPC code of the contract's dialect. */
  get rpcCode(): number {
    return (problemCodes[this.code] as CodeRow).rpc ?? -32603;
  }

  get fails(): CodeRow["fails"] {
    return (problemCodes[this.code] as CodeRow).fails;
  }
}

export const isProblemCode = (text: string): text is ProblemCode => Object.hasOwn(problemCodes, text);

/** The body of RFC 9457, as it goes on the wire. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly code: string;
  readonly correlation_id: string;
  readonly errors?: readonly Issue[];
  readonly [member: string]: unknown;
}
