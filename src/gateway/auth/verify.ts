import { Problem } from "#contract/problem.ts";
import type { StepUp } from "#contract/step-up.ts";
import { HeaderLines, type Answer } from "#gateway/model/answer.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import { canonicalise, guardMarks } from "#gateway/model/canonical-path.ts";
import type { Steps } from "#gateway/steps/steps.ts";
import { hasForwarding } from "#http/forwarding-names.ts";
import { requireOrigin, type Inbound } from "#gateway/model/inbound.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { isForeignNavigation, isNavigation, refreshPage } from "#gateway/model/plain-page.ts";
import { identityHeaders } from "#gateway/steps/upstream-headers.ts";
import type { Recognised } from "#gateway/steps/recognise.ts";
import { redirect } from "#gateway/model/reply.ts";
import type { RouteTable } from "#gateway/routes/route-table.ts";
import { parseForwarded, readForwarded, requireForwardRow } from "./forwarded-request.ts";
import { queryOf } from "./query.ts";
import { returnQuery } from "./return-to.ts";
import { verifyVerdictOf } from "./verdict.ts";

export interface VerifyParts
  extends Pick<Steps, "rate" | "recogniser" | "csrf" | "decide" | "origins" | "isTrustedProxy">, Pick<GatewayParts, "metrics"> {
  /** The table of this moment. */
  readonly table: () => RouteTable;
}

/** A person looks at the answer and nothing would be lost by looking elsewhere: a load, not a form that was sent. */
const isPageLoad = (inbound: Inbound): boolean => isNavigation(inbound) && (inbound.headers.get("x-forwarded-method") ?? "GET") === "GET";

const allowed = (who: Recognised): Answer => {
  const headers = new HeaderLines();
  identityHeaders(who, headers);
  headers.set("cache-control", "no-store");
  return { status: 200, headers, body: null };
};

/**
 * `/auth/verify`: may this request pass? For proxies that protect other applications. Only a proxy on the trusted list is
 * believed what it says of the request, and it must say it whole; anybody else asks about their own session. 200 without body means yes and names
 * the person; 400, 401, 403 and 503 mean no, and there is no other answer.
 */
export const createVerify = (parts: VerifyParts): BuiltInHandler => {
  const verifyOwn = async (inbound: Inbound): Promise<Answer> => {
    requireOrigin(inbound);
    const who = await parts.rate.requireByCaller(inbound, "session", () => parts.recogniser.session(inbound));
    parts.csrf.guardOrigin(inbound);
    return allowed(who);
  };

  const verifyForwarded = async (inbound: Inbound): Promise<Answer> => {
    const asked = parseForwarded(readForwarded(inbound.headers), parts.origins);
    const target = canonicalise(asked.uri);
    const { route, captures } = requireForwardRow(parts.table(), asked, target.path);
    guardMarks(target, route.row.allow_encoded);
    if (route.row.auth === "none") {
      await parts.rate.requireByCaller(inbound, route.row.rate ?? "anonymous", async () => ({ kind: "none" as const }));
      return allowed({ kind: "none" });
    }
    const about: Inbound = { ...inbound, method: asked.method, target, host: asked.host, origin: asked.origin, body: undefined };
    const who = await parts.rate.requireByCaller(inbound, route.row.rate ?? "session", async () => {
      // Its session cannot show itself before a page of that host asks again; until then nobody is known.
      if (isForeignNavigation(about)) throw new Problem("unauthenticated", { headers: { "www-authenticate": "Cookie" } });
      return parts.recogniser.session(about);
    });
    parts.csrf.guard(about, who.record, route.row.csrf ?? "headers");
    await parts.decide({ inbound: about, route, captures, principal: who.principal, record: who.record, method: asked.method });
    return allowed(who);
  };

  /** Where to sign in: as strongly as the decision wants, so that nobody comes back as they left. */
  const loginUrl = (inbound: Inbound, problem: Problem): string => {
    const host = inbound.headers.get("x-forwarded-host")?.toLowerCase();
    const origin = host === undefined ? inbound.origin : parts.origins.originOf(host);
    const uri = inbound.headers.get("x-forwarded-uri");
    const step = problem.options.members?.["step_up"] as StepUp | undefined;
    const wanted = new URLSearchParams({
      ...(step === undefined ? {} : { acr_values: step.acr_value, max_age: String(step.max_age_seconds) }),
      ...(uri === undefined ? {} : returnQuery(uri)),
    });
    return `${origin ?? parts.origins.first}/auth/login${wanted.size === 0 ? "" : `?${wanted.toString()}`}`;
  };

  return async ({ inbound }) => {
    const started = performance.now();
    const isTrusted = parts.isTrustedProxy(inbound.peerAddress);
    let status = "ok";
    try {
      if (!isTrusted && hasForwarding(inbound.headers.pairs.map(([name]) => name))) {
        parts.metrics.count("bff_security_events_total", { event_type: "untrusted_proxy", severity: "warning" });
        throw new Problem("untrusted_proxy");
      }
      return await (isTrusted ? verifyForwarded(inbound) : verifyOwn(inbound));
    } catch (error) {
      const verdict = verifyVerdictOf(error);
      status = verdict.status === 401 ? "unauthenticated" : verdict.status >= 500 ? "error" : "denied";
      if (verdict.status !== 401) throw verdict;
      const url = loginUrl(inbound, verdict);
      const headers = { ...verdict.options.headers, "x-login-url": url };
      // Only where the proxy hands our answer on: nginx keeps the status alone, and makes both answers itself.
      if (queryOf(inbound.target.query)["redirect"] === "true" && isPageLoad(inbound))
        return isForeignNavigation({ ...inbound, method: "GET" }) ? refreshPage(401, new Headers(headers)) : redirect(302, url);
      throw new Problem(verdict.code, { ...verdict.options, headers });
    } finally {
      const milliseconds = performance.now() - started;
      parts.metrics.observe("bff_verify_duration_seconds", { status }, milliseconds / 1000);
      parts.metrics.observe("bff_forwardauth_duration_ms", { status }, milliseconds);
    }
  };
};
