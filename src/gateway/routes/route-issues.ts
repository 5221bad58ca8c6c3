import { canonicalise } from "#gateway/model/canonical-path.ts";
import { readsBody } from "./authz-mapping.ts";
import type { RoutePattern } from "./route-pattern.ts";
import { namesIn } from "./route-pattern.ts";
import type { RouteService, AddIssue } from "./route-service.ts";
import { hasPlaceholder } from "./placeholders.ts";
import type { RowShape } from "./route-row.ts";

export interface RowContext {
  readonly row: RowShape;
  /** Words of the row that are not what the file says, because those are faulty: no rule that reads one is applied. */
  readonly bad: ReadonlySet<string>;
  /** Absent where the path itself is faulty. */
  readonly pattern: RoutePattern | undefined;
  readonly service: RouteService | undefined;
  /** The service that its token policy names, where that is one of this file's. */
  readonly tokenService: RouteService | undefined;
  /** What its token names, by whoever says it. */
  readonly tokenAudience: string | undefined;
  /** Whether the file names the row's service, however faulty. */
  readonly isKnownService: boolean;
  /** Ids that a row with `target_service: internal` may have. */
  readonly handlers: readonly string[];
  readonly publicHosts: ReadonlySet<string>;
  readonly audiences: readonly string[];
  readonly internalAudiences: readonly string[];
  /** True: the path lies under one that the gateway serves by itself. */
  readonly isBuiltIn: boolean;
  readonly add: AddIssue;
}

/** What a forward-auth row cannot have: it sends nothing anywhere and reads no body. */
const notForwarded = ["target_service", "internal", "upstream_path", "token_policy"] as const;

const forwardIssues = ({ row, publicHosts, add }: RowContext): void => {
  for (const key of notForwarded) if (row[key] !== undefined) add([key], "a forward-auth row (hosts) has none");
  for (const key of ["preserve_path", "streaming", "delete_body"] as const) if (row[key]) add([key], "a forward-auth row (hosts) has none");
  if (row.auth === "bearer") add(["auth"], "a forward-auth row has session or none");
  if (row.csrf !== undefined && row.auth !== "session") add(["csrf"], "goes with auth: session");
  for (const [index, host] of (row.hosts ?? []).entries()) {
    if (!publicHosts.has(host)) add(["hosts", index], "is not the host of a public origin");
    if (row.hosts?.indexOf(host) !== index) add(["hosts", index], "is named twice");
  }
  for (const [method, mapping] of Object.entries(row.authz_map ?? {}))
    if (readsBody(mapping)) add(["authz_map", method, "props"], "a forward-auth row sees no body");
};

/** An upstream path must come out of the canonicaliser as it went in, whatever is captured. */
const upstreamPathIssue = (text: string): string | undefined => {
  if (!text.startsWith("/")) return "must begin with /";
  const sample = text.replace(/\{[^{}]*\}/g, "x");
  try {
    const { path, query, marks } = canonicalise(sample);
    return path === sample && query === "" && marks.size === 0 ? undefined : "is not in its canonical form";
  } catch {
    return "is not in its canonical form";
  }
};

const targetIssues = (context: RowContext): void => {
  const { row, pattern, handlers, add } = context;
  if (row.hosts !== undefined) {
    forwardIssues(context);
    return;
  }
  if (row.target_service === undefined) {
    add([], "names no target_service");
    return;
  }
  if (row.target_service === "internal") {
    if (row.internal === false) add(["internal"], "must be true or absent with target_service internal");
    if (!context.bad.has("id") && !handlers.includes(row.id))
      add(["id"], `names no handler of the gateway; known are ${handlers.join(", ")}`);
    if (row.upstream_path !== undefined) add(["upstream_path"], "an internal row has none");
    return;
  }
  if (row.internal === true) add(["internal"], "only goes with target_service internal");
  if (!context.isKnownService) add(["target_service"], "is not a key of services");
  if ((row.upstream_path !== undefined) === row.preserve_path) add([], "needs exactly one of upstream_path and preserve_path");
  if (row.upstream_path !== undefined) {
    const issue = upstreamPathIssue(row.upstream_path);
    if (issue !== undefined) add(["upstream_path"], issue);
    for (const name of namesIn(row.upstream_path))
      if (pattern?.names.has(name) === false) add(["upstream_path"], `{${name}} is not captured by the path`);
  }
};

const credentialFaults = ({ row, pattern, add }: RowContext): void => {
  if (row.authz === "pdp" && row.auth === "none") add(["authz"], "pdp needs a session or a bearer");
  if (row.authz === "none" && row.authz_map !== undefined) add(["authz_map"], "goes with authz: pdp");
  for (const method of Object.keys(row.authz_map ?? {}))
    if (!(row.methods as string[]).includes(method)) add(["authz_map", method], "is not one of the row's methods");
  if (row.own_credential && row.auth !== "none")
    add(["own_credential"], "goes with auth: none; any other credential is the gateway's to look at");
  if (row.auth === "none" && pattern?.text === "/*") add(["auth"], "none is not allowed on a catch-all");
  if (row.bearer !== undefined && row.auth !== "bearer") add(["bearer"], "goes with auth: bearer");
  if (row.cors_origins.length > 0 && row.auth !== "bearer")
    add(["cors_origins"], "go with auth: bearer; a cookie is never sent across origins");
  if ((row.rate === "session" || row.rate === "bearer") && row.rate !== row.auth) add(["rate"], `${row.rate} goes with auth: ${row.rate}`);
  if (row.csrf !== undefined && row.hosts === undefined) add(["csrf"], "is set on forward-auth rows (hosts) only");
  if (row.bearer?.resource !== undefined && !/^\/mcp(?:\/[^/]+)?$/.test(row.bearer.resource))
    add(["bearer", "resource"], "names no document of this gateway: /mcp or /mcp/{view}");
  for (const text of [...(row.bearer?.audiences ?? []), ...(row.bearer?.resource === undefined ? [] : [row.bearer.resource])])
    for (const name of namesIn(text)) if (pattern?.names.has(name) === false) add(["bearer"], `{${name}} is not captured by the path`);
};

/** Tokens for services outside Sallyport: made for that service alone, and only for somebody. */
const foreignPolicyFaults = (
  { row, tokenAudience: audience, internalAudiences, add }: RowContext,
  policy: NonNullable<RowShape["token_policy"]>,
): void => {
  if (row.auth === "none" && policy.mode !== "service_token") add(["token_policy", "mode"], "needs a session or a bearer");
  if (audience !== undefined && internalAudiences.includes(audience))
    add(["token_policy", policy.audience === undefined ? "service" : "audience"], "is one of Sallyport; it is not given to others");
  if (policy.mode === "session_passthrough") {
    if (policy.scopes !== undefined) add(["token_policy", "scopes"], "a token that is passed on stays as it is");
    if (policy.cache_ttl !== undefined) add(["token_policy", "cache_ttl"], "a token that is passed on is not kept");
    if (audience === undefined && row.bearer?.audiences === undefined)
      add(["token_policy"], "the service needs an audience, or the row bearer.audiences");
  } else if (audience === undefined) add(["token_policy"], "names no audience, and neither does the service");
};

const policyFaults = (context: RowContext): void => {
  const { row, service, tokenService, audiences, add } = context;
  const policy = row.token_policy;
  if (policy === undefined) return;
  if (row.target_service === "internal" || row.hosts !== undefined) add(["token_policy"], "goes with an upstream service");
  else if (service?.isInternal === true) {
    if (policy.mode !== "on_behalf_of") add(["token_policy", "mode"], "a service of Sallyport gets on_behalf_of, or no policy");
    if (policy.cache_ttl !== undefined) add(["token_policy", "cache_ttl"], "a service of Sallyport gets a token of its own for each call");
    if (policy.service !== undefined && policy.service !== row.target_service)
      add(["token_policy", "service"], "a service of Sallyport gets a token for itself: its target_service");
  } else foreignPolicyFaults(context, policy);
  const isListed = [service?.audience, tokenService?.audience, ...audiences].includes(policy.audience);
  if (policy.audience !== undefined && !isListed) add(["token_policy", "audience"], "is not one of the audiences that this file allows");
};

/** Every rule that one row can break by itself. */
export const rowIssues = (context: RowContext): void => {
  const { row, bad, isBuiltIn, add } = context;
  const areGood = (...words: readonly (keyof RowShape)[]): boolean => words.every((word) => !bad.has(word));
  for (const at of placesOf(row, [])) add(at, "placeholders are not allowed here");
  if (isBuiltIn) add(["path"], "lies under a path that the gateway serves by itself");
  const forwarded: readonly (keyof RowShape)[] = row.hosts === undefined ? [] : ["auth", "csrf", "authz_map", "token_policy", "streaming"];
  if (areGood("hosts", "target_service", "internal", "upstream_path", "preserve_path", ...forwarded)) targetIssues(context);
  if (areGood("auth", "authz", "authz_map", "methods", "bearer", "cors_origins", "rate", "csrf", "hosts")) credentialFaults(context);
  if (areGood("auth", "token_policy", "bearer", "target_service", "hosts")) policyFaults(context);
  if (!areGood("streaming", "auth", "methods", "target_service", "delete_body")) return;
  if (row.streaming && row.auth === "session" && row.methods.some((method) => method !== "GET" && method !== "OPTIONS"))
    add(["streaming"], "with auth: session is an event stream: GET alone");
  if (row.streaming && row.target_service === "internal") add(["streaming"], "goes with an upstream service");
  if (row.delete_body && !row.methods.includes("DELETE")) add(["delete_body"], "goes with the method DELETE");
};

/** Where a row holds a `${NAME}`, but for the audiences of its tokens. */
const placesOf = (value: unknown, at: readonly PropertyKey[]): (readonly PropertyKey[])[] => {
  if (typeof value === "string") return hasPlaceholder(value) ? [at] : [];
  if (typeof value !== "object" || value === null || at.join("/") === "bearer/audiences") return [];
  return Array.isArray(value)
    ? value.flatMap((item, index) => placesOf(item, [...at, index]))
    : Object.entries(value).flatMap(([key, item]) => placesOf(item, [...at, key]));
};

/** What is likely a mistake, yet serves. */
export const rowWarnings = (row: RowShape): readonly { readonly at: readonly PropertyKey[]; readonly message: string }[] =>
  row.cors_origins.length > 0 && !row.methods.includes("OPTIONS")
    ? [{ at: ["methods"], message: "has cors_origins without OPTIONS: a browser asks first, and is refused" }]
    : [];
