import type { ProblemCode } from "#contract/problem.ts";

/** A check that is not made of some endpoints, and why: what it holds to be an issue is none there. */
export interface LeftOut {
  /** Names of the contract. */
  readonly operations: readonly string[];
  readonly check: string;
  readonly reason: string;
}

/** They take a document: of a configuration object that people write. */
const ofDocuments = ["Form", "NotificationChannel", "ServedForm", "ServedWorkflow", "Workflow"].flatMap((noun) => [
  `create${noun}`,
  `put${noun}`,
]);

export const leftOut: readonly LeftOut[] = [
  {
    operations: ["startReplay", "testPolicies", "validatePolicies"],
    check: "allow_header_conformance",
    reason: "GET of the same path reads a policy of that id",
  },
  {
    operations: ["findReservation", "spend", "reserve", "revokeMany", "whatIfDelegation"],
    check: "allow_header_conformance",
    reason: "GET and PATCH of the same path are of a delegation of that id",
  },
  {
    operations: ["affectedCapabilities", "retireMcpTools"],
    check: "allow_header_conformance",
    reason: "GET and DELETE of the same path are of a tool of that id",
  },
  {
    operations: ["formSchema", "formSuggestions", "listRuns", "validateWorkflow"],
    check: "allow_header_conformance",
    reason: "other methods of the same path are of a form or a workflow of that name",
  },
  {
    operations: ["ingestMetrics", "explainRoute", "logout"],
    check: "unsupported_method",
    reason: "it is tried as a GET with a body, which the ingress refuses on every path",
  },
  {
    operations: ["toolRpc", "viewToolRpc"],
    check: "unsupported_method",
    reason: "GET of the same path is standard MCP, of a view of that name",
  },
  { operations: ["bulkSecrets"], check: "negative_data_rejection", reason: "an item that is wrong is answered in its place, with 200" },
  {
    operations: ["createSystem", "importConfig", "putSystem", "putToolsDocument", "validateWorkflow", ...ofDocuments],
    check: "negative_data_rejection",
    reason: "the body is a document, whose issues a dry run lists with 200",
  },
  { operations: ["toolRpc", "viewToolRpc"], check: "negative_data_rejection", reason: "an error of JSON-RPC comes with 200" },
];

/** Operations that may be told to come again (503): that the graph has not reached a version yet is no issue. */
export const mayBeBehind: readonly string[] = ["askFacts", "askFactsIf", "listCandidates"];

/** A refusal that input may meet though it fits its schema, and why. */
export interface AllowedRefusal {
  readonly code: ProblemCode;
  /** Names of the contract; every endpoint unless given. */
  readonly operations?: readonly string[];
  /** What the answer holds, where the code alone would allow more. */
  readonly text?: string;
  readonly reason: string;
}

const ROUNDED = { text: "holds a number that no double holds", reason: "open members take any JSON, but no number that would be rounded" };

export const allowedRefusals: readonly AllowedRefusal[] = [
  { code: "body_unreadable", ...ROUNDED },
  { code: "invalid_request", ...ROUNDED },
  { code: "invalid_cursor", reason: "a cursor is what a page before gave" },
  { code: "invalid_page_token", reason: "a page token is what a page before gave" },
  { code: "invalid_denial_binding", reason: "the binding is what a denial gave" },
  { code: "stale_version", reason: "If-Match is what was read before" },
  { code: "uri_scheme", reason: "schemes and their aliases are settings" },
  { code: "uri_authority", reason: "which mount a scheme takes is the scheme's" },
  { code: "uri_version_unsupported", reason: "whether there are versions is the provider's" },
  { code: "version_conflict", reason: "the version may stand in the URI or beside it, and both must be the same" },
  { code: "value_shape", reason: "whether the value is a map hangs on the URI's key" },
  { code: "ambiguous_target", operations: ["endSession"], reason: "what a path may hold is one rule for all paths" },
  { code: "sensitive_key", operations: ["ingestMetrics"], reason: "the open attributes may not look like personal data" },
  { code: "invalid_body", operations: ["ingestMetrics"], reason: "the open attributes are bounded in depth and length" },
  {
    code: "invalid_request",
    operations: ["createAccessRequest", "replayTools", "whatIf"],
    reason: "the open members hold no NUL, which no database keeps",
  },
  { code: "invalid_request", operations: ["evaluateMany"], reason: "without items it is a single question, which needs every part" },
  { code: "invalid_request", operations: ["testPolicies"], reason: "cases have the form of the policies' own files" },
  {
    code: "unprocessable",
    operations: [
      "askFactsIf",
      "createPolicyBinding",
      "changeGraph",
      "deleteGraphEdge",
      "exportGraph",
      "fulltextSearch",
      "getGraphEdge",
      "importGraph",
      "putGraphEdge",
      "putGraphNode",
      "registerMcpService",
      "relatedNodes",
      "relationshipConnections",
      "countNodes",
      "createDelegation",
      "getRelationships",
      "patchDelegation",
      "putBudgetLimit",
      "putDataScopeRule",
      "putKillSwitch",
      "revokeMany",
      "searchNodes",
      "searchNodesWithMetadata",
      "shortestPath",
      "whatIfDelegation",
    ],
    reason: "it must name kinds and nodes that are in the graph, and times that lie ahead",
  },
  { code: "invalid_body", operations: ["registerMcpService"], reason: "whether an address is a URL no pattern tells whole" },
  {
    code: "unprocessable",
    operations: ["acceptImport", "createSystem", "importConfig", "importOpenApi", "putSystem", "putToolsDocument", "reimportSystem"],
    reason: "the body, or what it speaks of, is a document, which has rules of its own",
  },
  {
    code: "unprocessable",
    operations: ["createNotificationChannel", "putNotificationChannel"],
    reason: "the body is a document, which has rules of its own",
  },
  {
    code: "invalid_definition",
    operations: [...ofDocuments, "simulateWorkflow"],
    reason: "the body is a document, which has rules of its own",
  },
  {
    code: "unprocessable",
    operations: ["formSchema", "formSuggestions"],
    reason: "of several members that exclude each other exactly one is given",
  },
  { code: "invalid_body", operations: ["simulateWorkflow"], reason: "of members that exclude each other one is given" },
  { code: "import_refused", operations: ["importGraph"], reason: "the body is a file, whose lines have rules of their own" },
  { code: "fragment_not_allowed", reason: "whether a secret's URI may name a key hangs on what is done" },
  {
    code: "uri_too_long",
    operations: ["listSecretMetadata", "searchSecrets"],
    reason: "a prefix is a part of a URI, which is counted whole and in bytes",
  },
  { code: "same_resource", operations: ["copySecret", "moveSecret"], reason: "no schema tells that two members differ" },
  {
    code: "if_match_required",
    operations: ["putGraphNode", "putDataScopeRule"],
    reason: "only who replaces what is there says which one was read",
  },
  { code: "unsupported_media_type", operations: ["importGraph"], reason: "the content type is that of the format in the query" },
  { code: "ambiguous", operations: ["addOwner"], reason: "of two names of one member both must say the same" },
  { code: "reserved_context_member", reason: "some members of the open context are Sallyport's own" },
];
