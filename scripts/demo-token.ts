import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Secret, TOTP } from "otpauth";
import { deriveClientSecret } from "#authn/sealing/client-secret.ts";
import { parseSecret, readInstanceSecrets } from "#authn/sealing/instance-secret.ts";
import type { Send } from "#http/trusting-fetch.ts";
import { CLI_CLIENT, DEMO_GRANT } from "#issuer/clients.ts";
import { demoPassword, demoSignIns, demoTotpSecret } from "#demo/sign-ins.ts";
import { reachInstance } from "./instance-fetch.ts";
import { Refusal } from "./refusal.ts";

/** Exit codes of sysexits.h. */
export const USAGE = 64;
const UNAVAILABLE = 69;
const REFUSED = 77;

/** Whose token is wanted of Sallyport whose gateway is at this port: a demo person's, an agent's for them, or a service client's. */
export interface TokenAsk {
  readonly port: string;
  readonly user?: string | undefined;
  readonly agent?: string | undefined;
  readonly client?: string | undefined;
  readonly acr?: string | undefined;
  readonly scope?: string | undefined;
  readonly aud?: readonly string[] | undefined;
  readonly password?: string | undefined;
  /** Sallyport's data folder, of which a client's secret is made. */
  readonly data: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The one-time code of the demo's second factor at this moment. */
export const codeNow = (): string => new TOTP({ secret: Secret.fromBase32(demoTotpSecret) }).generate();

/** Derived as Sallyport itself derives it: who may read the data folder's key may know it. Throws `Refusal`. */
export const clientSecret = async (clientId: string, data: string, environment: Environment = process.env): Promise<string> => {
  if (![...demoSignIns.agents, ...demoSignIns.services].some((row) => row.clientId === clientId))
    throw new Refusal(USAGE, `${clientId} is no client of the demo.`);
  const given = (environment["SESSION_SECRETS"] ?? "").split(",").flatMap((item) => parseSecret(item.trim()) ?? []);
  const dataFolder = resolve(environment["SALLYPORT_INVOKED_FROM"] ?? ".", data);
  if (given.length === 0 && !existsSync(join(dataFolder, "keys", "instance")))
    throw new Refusal(
      UNAVAILABLE,
      `No instance was started in ${dataFolder} yet. Start it with \`npm start\`, or name its data folder with --data.`,
    );
  return deriveClientSecret(await readInstanceSecrets({ given, dataFolder, environment: "dev", isSealed: async () => true }), clientId);
};

/** The form of the development sign-in. */
const formOf = (given: TokenAsk, user: string): URLSearchParams => {
  const login = user.replace(/^person:/, "");
  const form = new URLSearchParams({
    grant_type: DEMO_GRANT,
    client_id: CLI_CLIENT,
    username: login,
    password: given.password ?? demoPassword,
  });
  if (given.agent !== undefined) form.set("agent", given.agent);
  if (given.scope !== undefined) form.set("scope", given.scope);
  for (const audience of given.aud ?? []) form.append("resource", audience);
  if (given.acr === "strong") form.set("otp", codeNow());
  return form;
};

const askAt = async (send: Send, url: string, form?: URLSearchParams, authorization?: string): Promise<Response> => {
  try {
    return await send(url, {
      ...(form === undefined ? {} : { method: "POST", body: form }),
      ...(authorization === undefined ? {} : { headers: { authorization } }),
      redirect: "error",
      signal: AbortSignal.timeout(15_000),
    });
  } catch {
    throw new Refusal(
      UNAVAILABLE,
      `No instance answers at ${new URL(url).origin}. Start it with \`npm start\`, or name its gateway's port with --port.`,
    );
  }
};

interface TokenReply {
  readonly access_token?: string;
  readonly error?: string;
  readonly error_description?: string;
}

/** As the client itself, with the secret that Sallyport's data folder makes. Nobody else vouches for a service. */
const askAsClient = async (
  send: Send,
  endpoint: string,
  clientId: string,
  given: TokenAsk,
  environment: Environment,
): Promise<Response> => {
  const service = demoSignIns.services.find((row) => row.clientId === clientId);
  if (service === undefined)
    throw new Refusal(USAGE, `no such service client. Known: ${demoSignIns.services.map((row) => row.clientId).join(" ")}`);
  const scopes = given.scope?.split(" ").filter(Boolean) ?? service.scopes;
  const wider = scopes.filter((scope) => !service.scopes.includes(scope));
  if (wider.length > 0) throw new Refusal(REFUSED, `not to be had here: ${wider.join(" ")}. There is: ${service.scopes.join(" ")}`);
  const secret = await clientSecret(clientId, given.data, environment);
  const form = new URLSearchParams({ grant_type: "client_credentials", scope: scopes.join(" ") });
  for (const audience of given.aud ?? []) form.append("resource", audience);
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString("base64");
  return askAt(send, endpoint, form, `Basic ${basic}`);
};

/** The access token that the embedded issuer of the running instance gives; `environment` is Sallyport's own. Throws `Refusal`. */
export const requestToken = async (given: TokenAsk, environment: Environment = process.env): Promise<string> => {
  if (!/^[0-9]{1,5}$/.test(given.port) || Number(given.port) > 65_534) throw new Refusal(USAGE, "--port must be a port number.");
  const { scheme, send } = await reachInstance(environment);
  const issuer = `${scheme}://localhost:${Number(given.port) + 1}`;
  const found = (await (await askAt(send, `${issuer}/.well-known/openid-configuration`)).json().catch(() => ({}))) as {
    readonly issuer?: string;
    readonly token_endpoint?: string;
    readonly grant_types_supported?: readonly string[];
  };
  if (found.issuer !== issuer || found.token_endpoint === undefined || !found.grant_types_supported?.includes(DEMO_GRANT))
    throw new Refusal(
      UNAVAILABLE,
      `${issuer} is not the embedded issuer of a development instance: take a token from your own OpenID provider.`,
    );
  const answer = await (given.client === undefined
    ? askAt(send, found.token_endpoint, formOf(given, given.user ?? ""))
    : askAsClient(send, found.token_endpoint, given.client, given, environment));
  const body = (await answer.json().catch(() => ({}))) as TokenReply;
  if (answer.ok && body.access_token !== undefined) return body.access_token;
  if (body.error === "invalid_client")
    throw new Refusal(REFUSED, "The secret of this data folder is not Sallyport's: name Sallyport's own with --data.");
  throw new Refusal(REFUSED, `Refused: ${body.error_description ?? body.error ?? `status ${answer.status}`}`);
};
