import type { IncomingMessage } from "node:http";
import type { UnknownObject } from "oidc-provider";
import { isLoopbackAddress } from "#http/addresses.ts";
import { OAuthError } from "#authn/model/oauth-error.ts";
import { isInternalAudience } from "#authn/model/resource-indicator.ts";
import { agentScopes } from "#authn/model/scopes.ts";
import type { Factors } from "./factors.ts";
import type { IssueToken } from "./grant-tokens.ts";
import { valueOf, valuesOf, type GrantContext } from "./grant-context.ts";
import type { AgentSignIn, Person, SignIns } from "./sign-ins.ts";

const LIFE_SECONDS = 3600;

export interface DemoGrantParts {
  readonly signIns: SignIns;
  readonly factors: Factors;
  readonly issue: IssueToken;
  readonly audiences: readonly string[];
  readonly scopesOfClient: (clientId: string) => Promise<readonly string[]>;
  readonly now: () => Date;
}

export const demoGrantParameters = ["username", "password", "otp", "agent", "scope", "resource"] as const;

/** What a browser or a proxy adds, and a command of this machine does not. */
const foreignHeaders = ["origin", "sec-fetch-site", "cookie", "x-forwarded-for", "forwarded", "via", "x-real-ip"] as const;

/** Lets only programs of this machine through: a page in a browser here, or a proxy that stands here, is no such program. */
const guardLocalCommand = (request: IncomingMessage): void => {
  const address = request.socket.remoteAddress;
  if (address === undefined || !isLoopbackAddress(address))
    throw new OAuthError("unauthorized_client", "the development sign-in is for this machine alone");
  if (foreignHeaders.some((name) => request.headers[name] !== undefined))
    throw new OAuthError("unauthorized_client", "the development sign-in is for the command line alone");
};

/** No more than there is; all of it when nothing is asked. */
const parseScope = (ctx: GrantContext, max: readonly string[]): string => {
  const asked = valueOf(ctx, "scope")?.split(" ").filter(Boolean) ?? max;
  const wider = asked.filter((scope) => !max.includes(scope));
  if (wider.length > 0) throw new OAuthError("invalid_scope", `not to be had here: ${wider.join(" ")}. There is: ${max.join(" ")}`);
  return asked.join(" ");
};

const parseTargets = (ctx: GrantContext, audiences: readonly string[]): readonly string[] => {
  const asked = valuesOf(ctx, "resource");
  if (asked.some((audience) => !isInternalAudience(audiences, audience)))
    throw new OAuthError("invalid_target", `this deployment has ${audiences.join(" ")}`);
  return asked.length === 0 ? audiences : asked;
};

/**
 * The development sign-in of the command line (`npm run token`): a program of this machine that shows a demo person's
 * password, and a one-time code for a strong one, gets that person's token, or an agent's for that person. A service client's
 * is had with that client's own secret alone: no person vouches for a service, which may ask about all tenants. It exists in
 * dev and test alone, as the whole embedded issuer does.
 */
export const createDemoGrant = (parts: DemoGrantParts): ((ctx: GrantContext) => Promise<Readonly<Record<string, unknown>>>) => {
  const requirePerson = async (ctx: GrantContext): Promise<Person> => {
    const found = await parts.factors.password(valueOf(ctx, "username") ?? "", valueOf(ctx, "password") ?? "");
    if (found.ok) return found.value;
    const text = found.why === "locked" ? "too many wrong passwords: wait five minutes" : "no such person, or the password is wrong";
    throw new OAuthError("invalid_grant", text);
  };
  const parseAgent = (ctx: GrantContext): AgentSignIn | undefined => {
    const named = valueOf(ctx, "agent");
    const found = parts.signIns.agents.find((row) => row.agent === named);
    if (named === undefined || found !== undefined) return found;
    throw new OAuthError("invalid_request", `no such agent. Known: ${parts.signIns.agents.map((row) => row.agent).join(" ")}`);
  };
  /** The claims of a sign-in now: with a one-time code it is strong. The code is not used up: a script may run twice. */
  const signInClaims = async (person: Person, code: string | undefined): Promise<UnknownObject> => {
    const auth_time = Math.floor(parts.now().getTime() / 1000);
    if (code === undefined) return { amr: ["pwd"], auth_time };
    const shown = await parts.factors.code(person, code, false);
    if (!shown.ok) throw new OAuthError("invalid_grant", `the one-time code was refused: ${shown.why}`);
    return { acr: "strong", amr: ["pwd", "otp"], auth_time };
  };

  return async (ctx) => {
    guardLocalCommand(ctx.req);
    const person = await requirePerson(ctx);
    const audiences = parseTargets(ctx, parts.audiences);
    const agent = parseAgent(ctx);
    const clientId = agent?.clientId ?? ctx.oidc.client.clientId;
    const scope = parseScope(ctx, agent === undefined ? await parts.scopesOfClient(clientId) : agentScopes);
    const claims = {
      tenant: person.tenant,
      ...(await signInClaims(person, valueOf(ctx, "otp"))),
      ...(agent === undefined ? {} : { act: { sub: agent.agent } }),
    };
    const order = { clientId, sub: person.sub, claims, scope, audiences, lifeSeconds: LIFE_SECONDS, gty: "demo_sign_in" };
    return { access_token: await parts.issue(order), token_type: "Bearer", expires_in: LIFE_SECONDS, scope };
  };
};
