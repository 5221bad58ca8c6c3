import type { LogoutToken } from "#authn/provider/logout-token.ts";
import { Problem } from "#contract/problem.ts";
import type { BuiltInHandler } from "#gateway/steps/built-in.ts";
import type { GatewayParts } from "#gateway/model/gateway-parts.ts";
import { guardContentType, readBody } from "#gateway/model/read-body.ts";
import type { Sessions } from "#gateway/sessions/sessions.ts";
import type { Once } from "./once.ts";

const MAX_BYTES = 16_384;

/** RFC 9110 form of the one field that counts; a field given twice is no field. */
const parseForm = (bytes: Uint8Array): string => {
  const given = new URLSearchParams(Buffer.from(bytes).toString("utf8")).getAll("logout_token");
  const [token] = given;
  if (token === undefined || given.length !== 1) throw new Problem("invalid_request", { detail: "Send one logout_token." });
  return token;
};

/**
 * `POST /auth/backchannel-logout`: the identity provider says that a session there, or all of a person, has ended. Ours
 * that came from it end in every replica. A token counts once; it is spent only after the sessions have ended, so that a
 * provider which was answered 503 may send it again.
 */
export const createBackchannelLogout = (
  parts: Pick<GatewayParts, "checkLogoutToken" | "metrics" | "log"> & {
    readonly once: Once;
    readonly sessions: Pick<Sessions, "end">;
  },
): BuiltInHandler => {
  const end = async (token: LogoutToken, correlationId: string): Promise<number> => {
    const which = token.sid === undefined ? { issuer: token.issuer, idpSub: token.sub ?? "" } : { issuer: token.issuer, idpSid: token.sid };
    return (await parts.sessions.end(which, "backchannel", correlationId)).length;
  };
  return async ({ inbound }) => {
    const started = performance.now();
    const headers = { "cache-control": "no-store" };
    try {
      guardContentType(inbound, ["application/x-www-form-urlencoded"]);
      const token = await parts.checkLogoutToken(parseForm(await readBody(inbound, MAX_BYTES)));
      const id = `${token.issuer} ${token.jti}`;
      const replayed = () => new Problem("invalid_request", { detail: "It was used already." });
      if (await parts.once.isUsed("logout_token", id)) throw replayed();
      const count = await end(token, inbound.correlationId);
      if (!(await parts.once.isFirstUse("logout_token", id, token.tooOldAt))) throw replayed();
      parts.log.info("backchannel_logout", { sessions_ended: count, correlation_id: inbound.correlationId });
      return new Response(null, { status: 200, headers });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      parts.log.warn("backchannel_logout_refused", { code: error.code, detail: error.message, correlation_id: inbound.correlationId });
      if (error.status >= 500) throw error;
      parts.metrics.count("bff_security_events_total", { event_type: "logout_token_rejected", severity: "warning" });
      return Response.json({ error: "invalid_request", error_description: error.message }, { status: 400, headers });
    } finally {
      parts.metrics.observe("bff_oauth_flow_duration_seconds", { flow_type: "backchannel" }, (performance.now() - started) / 1000);
    }
  };
};
