import type { ExplainStep, ExplainRequest, Explanation } from "#contract/routes.ts";
import type { Principal } from "#pdp-client/pdp-client.ts";
import type { Inbound } from "#gateway/model/inbound.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import { mappingOf } from "#gateway/steps/route-question.ts";
import type { Route } from "#gateway/routes/route-table.ts";
import { withChosen } from "./candidates.ts";

/** Who asks for the explanation, and by which request. */
export interface ExplainViewer {
  readonly who: Exclude<Recognised, { readonly kind: "none" }>;
  readonly inbound: Inbound;
}

export type Credential = NonNullable<ExplainRequest["credential"]>;

/** What is found out on the way; a refusal ends the way and keeps all that was found. */
export type Findings = { -readonly [Member in keyof Explanation]?: Explanation[Member] } & { steps: ExplainStep[] };

export type Enter = (step: ExplainStep["step"], detail?: string) => void;

/** A request whose row is known, and who it would come from. */
export interface DecidedRequest {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly captures: ReadonlyMap<string, string>;
  readonly principal: Principal;
}

export const brings = (credential: Credential, kind: "session" | "bearer"): boolean => credential === kind || credential === "both";

/** The identity that the request would come from; of the viewer's own tenant, whoever it is. */
export const principalOf = (ask: ExplainRequest, viewer: ExplainViewer, sessionScopes: readonly string[]): Principal => {
  const { principal } = viewer.who;
  const { subject } = ask;
  if (subject === undefined) return principal;
  return {
    sub: subject.id,
    tenant: principal.tenant,
    amr: subject.amr ?? ["pwd"],
    scopes: new Set(subject.scopes ?? sessionScopes),
    agent: subject.agent,
    clientId: subject.client_id,
    acr: subject.acr,
    authTime: subject.auth_time,
  };
};

export const credentialOf = (ask: ExplainRequest, viewer: ExplainViewer): Credential => {
  if (ask.credential !== undefined) return ask.credential;
  if (ask.subject === undefined) return viewer.who.kind;
  return ask.subject.agent === undefined ? "session" : "bearer";
};

/** The row that answers, and what is known of it before any check. */
export const choose = (route: Route, captures: ReadonlyMap<string, string>, inbound: Inbound, found: Findings): void => {
  found.row = {
    id: route.id,
    kind: route.target.kind === "forward_auth" ? "forward_auth" : "route",
    path: route.row.path,
    file: route.file,
    line: route.line,
    auth: route.row.auth,
    authz: route.row.authz,
    target: route.row.target_service,
  };
  found.candidates = withChosen(found.candidates ?? [], route);
  found.captures = Object.fromEntries(captures);
  const mapped = mappingOf(route, inbound.method);
  if (mapped === undefined) return;
  const { mapping, source, file, line } = mapped;
  found.mapping = { source, file, line, ...mapping };
};
