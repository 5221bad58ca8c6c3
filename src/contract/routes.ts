import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { plainText } from "./ids.ts";

/** The gateway's route table: what a request would meet, and taking up a changed file. */

/** Somebody that a request is explained for; what is left out is as at an ordinary sign-in. */
const explainedSubject = z.strictObject({
  /** Identity of the caller's own tenant, e.g. `person:ben`. */
  id: z.string().regex(/^[\x21-\x7e]{1,256}$/, "must be 1-256 printable characters"),
  agent: plainText(1, 256).optional(),
  client_id: plainText(1, 256).optional(),
  acr: z.enum(["strong", "phishing_resistant"]).optional(),
  amr: z.array(z.string().max(32)).max(16).optional(),
  /** Seconds since 1970. */
  auth_time: z.int().min(0).optional(),
  scopes: z.array(z.string().max(128)).max(128).optional(),
});

export const credentialKind = z.enum(["session", "bearer", "both", "none"]);

export const explainRequest = z.strictObject({
  method: z.string().regex(/^[A-Z]{1,16}$/, "must be a method in capitals"),
  /** As it would stand in the request line: path and query, not decoded. */
  target: z.string().min(1).max(16_384),
  /** Asks about the rows that protect this host by forward-auth, as its proxy would; the gateway's own rows unless given. */
  host: z.string().min(1).max(256).optional(),
  /** What the request would bring; by default what the caller brings now, `bearer` for an agent, else `session`. */
  credential: credentialKind.optional(),
  /** The caller unless given. Another than oneself needs `decisions/view_all`. */
  subject: explainedSubject.optional(),
  /** JSON body of the request. A proxy that asks about one sends none. */
  body: z.unknown().optional(),
});
export type ExplainRequest = z.infer<typeof explainRequest>;

const issue = z.looseObject({ path: z.string(), message: z.string() });

export const explainCandidate = z.object({
  id: z.string(),
  path: z.string(),
  methods: z.array(z.string()),
  auth: z.string(),
  line: z.int(),
  chosen: z.boolean(),
  /** Why it was, or was not. */
  why: z.string(),
});

export const explainStep = z.object({
  step: z.enum([
    "frame",
    "canonical_form",
    "match",
    "method",
    "credential",
    "encoded_marks",
    "recognise",
    "csrf",
    "reveal",
    "decide",
    "content_type",
    "upstream",
  ]),
  /** `assumed`: it depends on what a dry run does not have, e.g. headers. */
  result: z.enum(["pass", "refuse", "assumed"]),
  detail: z.string().optional(),
});
export type ExplainStep = z.infer<typeof explainStep>;

export const explanation = z.object({
  /** Digest of the table that answered. */
  revision: z.string(),
  /** The one form of the target; absent when it has none. */
  canonical: z.object({ path: z.string(), query: z.string(), marks: z.array(z.string()) }).optional(),
  candidates: z.array(explainCandidate),
  /** The row, or what else serves the path. */
  row: z
    .looseObject({
      id: z.string(),
      kind: z.enum(["route", "forward_auth", "built_in", "page"]),
      path: z.string(),
      file: z.string().optional(),
      line: z.int().optional(),
      auth: z.string().optional(),
      authz: z.string().optional(),
      target: z.string().optional(),
    })
    .optional(),
  captures: z.record(z.string(), z.string()),
  mapping: z
    .object({
      source: z.enum(["authz_map", "endpoint_map", "derived"]),
      file: z.string().optional(),
      line: z.int().optional(),
      resource: z.string(),
      action: z.string(),
      id: z.string().optional(),
      id_from: z.string().optional(),
      props: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  /** What the decision point is asked. */
  authzen_request: z.looseObject({}).optional(),
  upstream: z
    .looseObject({
      service: z.string(),
      path: z.string(),
      /** What it gets in `Authorization`. */
      credential: z.string(),
    })
    .optional(),
  steps: z.array(explainStep),
  answer: z.looseObject({
    /** `forwarded` and `handled` leave the status to what stands behind the checks. */
    outcome: z.enum(["forwarded", "handled", "answered", "refused"]),
    status: z.int().optional(),
    code: z.string().optional(),
    errors: z.array(issue).optional(),
  }),
});
export type Explanation = z.infer<typeof explanation>;

export const explainRoute = endpoint("gateway", "POST", "/api/v1/routes/explain", {
  body: explainRequest,
  reply: explanation,
  auth: "session+bearer",
  agents: "never",
  decision: "gateway.routes/explain",
  problems: ["access_denied", "invalid_body", "csrf_failed", "decision_unavailable"],
  summary: "Dry run: which row, mapping and upstream a request would take, which checks it would pass, and its answer.",
});

export const routesReloaded = z.object({
  revision: z.string(),
  previous: z.string(),
  /** Ids of rows. */
  added: z.array(z.string()),
  changed: z.array(z.string()),
  removed: z.array(z.string()),
});
export type RoutesReloaded = z.infer<typeof routesReloaded>;

export const reloadRoutes = endpoint("gateway", "POST", "/api/v1/routes/reload", {
  reply: routesReloaded,
  auth: "session+bearer",
  agents: "never",
  decision: "gateway.routes/reload",
  problems: ["access_denied", "routes_invalid", "csrf_failed", "audit_unavailable", "decision_unavailable"],
  summary: "Take up the changed route table of this process; one with an issue changes nothing.",
});
