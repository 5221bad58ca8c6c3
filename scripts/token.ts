// `npm run token`: an access token of the embedded issuer, for dev and test. The bare token is the last line of standard
// output and nothing else stands there; whatever there is to say goes to standard error.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Secret, TOTP } from "otpauth";
import { deriveClientSecret } from "#authn/client-secret.ts";
import { parseSecret, readHouseSecrets } from "#authn/house-secret.ts";
import { CLI_CLIENT, DEMO_GRANT } from "#issuer/clients.ts";
import { demoPassword, demoSignIns, demoTotpSecret } from "#demo/sign-ins.ts";
import { reachHouse } from "./house-fetch.ts";
import { Refusal } from "./refusal.ts";

const help = `npm run token -- --user NAME [--agent ID] [--acr strong] [--scope "a b"] [--aud URL] [--port 8080]
npm run token -- --client service:pep [--scope "a b"] [--aud URL] [--port 8080] [--data .sallyport]
npm run token -- --code
npm run token -- --secret ID [--data .sallyport]

Prints an access token of the running development house: of a demo person (${demoSignIns.persons.map((row) => row.login).join(", ")}),
of an agent acting for that person (${demoSignIns.agents.map((row) => row.agent).join(", ")}),
or of a service client (${demoSignIns.services.map((row) => row.clientId).join(", ")}).

  --user NAME      demo person; person:NAME is understood too
  --agent ID       the agent that acts for the person
  --client ID      a service client instead of a person, proved by its own secret: that of the house's data folder
  --acr strong     as after a sign-in with password and one-time code
  --scope "..."    narrower than all that the person, agent or client may have
  --aud URL        only for this service of the house; may be repeated. Default: all of them
  --password WORD  default: the demo's
  --code           the one-time code of the moment instead of a token, for the sign-in page
  --secret ID      the secret of an agent or service client instead, for its own calls of the token endpoints
  --data DIR       data folder of the house, of which --client and --secret make the client's secret; default .sallyport
  --port N         the gateway's port, default 8080; the issuer listens on the next one
`;

/** Exit codes of sysexits.h. */
const USAGE = 64;
const UNAVAILABLE = 69;
const REFUSED = 77;

const readArguments = () => {
  try {
    return parseArgs({
      options: {
        user: { type: "string" },
        agent: { type: "string" },
        client: { type: "string" },
        acr: { type: "string" },
        scope: { type: "string" },
        aud: { type: "string", multiple: true },
        password: { type: "string" },
        port: { type: "string", default: "8080" },
        code: { type: "boolean" },
        secret: { type: "string" },
        data: { type: "string", default: ".sallyport" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    throw new Refusal(USAGE, `${(error as Error).message}\n\n${help}`);
  }
};
type Arguments = ReturnType<typeof readArguments>;

const requireSensible = (given: Arguments): void => {
  if ((given.user === undefined) === (given.client === undefined)) throw new Refusal(USAGE, `Name either --user or --client.\n\n${help}`);
  if (given.client !== undefined && (given.agent !== undefined || given.acr !== undefined))
    throw new Refusal(USAGE, "--agent and --acr go with --user.");
  if (given.acr !== undefined && given.acr !== "strong") throw new Refusal(USAGE, "--acr knows only strong.");
  if (!/^[0-9]{1,5}$/.test(given.port) || Number(given.port) > 65_534) throw new Refusal(USAGE, "--port must be a port number.");
};

const codeNow = (): string => new TOTP({ secret: Secret.fromBase32(demoTotpSecret) }).generate();

/** Derived as the house itself derives it: who may read the data folder's key may know it. */
const clientSecret = async (clientId: string, data: string): Promise<string> => {
  if (![...demoSignIns.agents, ...demoSignIns.services].some((row) => row.clientId === clientId))
    throw new Refusal(USAGE, `${clientId} is no client of the demo.`);
  const given = (process.env["SESSION_SECRETS"] ?? "").split(",").flatMap((item) => parseSecret(item.trim()) ?? []);
  const dataFolder = resolve(process.env["SALLYPORT_INVOKED_FROM"] ?? ".", data);
  if (given.length === 0 && !existsSync(join(dataFolder, "keys", "house")))
    throw new Refusal(
      UNAVAILABLE,
      `No house was started in ${dataFolder} yet. Start it with \`npm start\`, or name its data folder with --data.`,
    );
  return deriveClientSecret(await readHouseSecrets({ given, dataFolder, environment: "dev", isSealed: async () => true }), clientId);
};

/** The form of the development sign-in. */
const formOf = (given: Arguments, user: string): URLSearchParams => {
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

const house = await reachHouse();

const ask = async (url: string, form?: URLSearchParams, authorization?: string): Promise<Response> => {
  try {
    return await house.send(url, {
      ...(form === undefined ? {} : { method: "POST", body: form }),
      ...(authorization === undefined ? {} : { headers: { authorization } }),
      redirect: "error",
      signal: AbortSignal.timeout(15_000),
    });
  } catch {
    throw new Refusal(
      UNAVAILABLE,
      `No house answers at ${new URL(url).origin}. Start it with \`npm start\`, or name its gateway's port with --port.`,
    );
  }
};

interface TokenReply {
  readonly access_token?: string;
  readonly error?: string;
  readonly error_description?: string;
}

/** As the client itself, with the secret that the house's data folder makes. Nobody else vouches for a service. */
const askAsClient = async (endpoint: string, clientId: string, given: Arguments): Promise<Response> => {
  const service = demoSignIns.services.find((row) => row.clientId === clientId);
  if (service === undefined)
    throw new Refusal(USAGE, `no such service client. Known: ${demoSignIns.services.map((row) => row.clientId).join(" ")}`);
  const scopes = given.scope?.split(" ").filter(Boolean) ?? service.scopes;
  const wider = scopes.filter((scope) => !service.scopes.includes(scope));
  if (wider.length > 0) throw new Refusal(REFUSED, `not to be had here: ${wider.join(" ")}. There is: ${service.scopes.join(" ")}`);
  const secret = await clientSecret(clientId, given.data);
  const form = new URLSearchParams({ grant_type: "client_credentials", scope: scopes.join(" ") });
  for (const audience of given.aud ?? []) form.append("resource", audience);
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString("base64");
  return ask(endpoint, form, `Basic ${basic}`);
};

const requestToken = async (given: Arguments): Promise<string> => {
  const issuer = `${house.scheme}://localhost:${Number(given.port) + 1}`;
  const found = (await (await ask(`${issuer}/.well-known/openid-configuration`)).json().catch(() => ({}))) as {
    readonly issuer?: string;
    readonly token_endpoint?: string;
    readonly grant_types_supported?: readonly string[];
  };
  if (found.issuer !== issuer || found.token_endpoint === undefined || !found.grant_types_supported?.includes(DEMO_GRANT))
    throw new Refusal(
      UNAVAILABLE,
      `${issuer} is not the embedded issuer of a development house: take a token from your own OpenID provider.`,
    );
  const answer = await (given.client === undefined
    ? ask(found.token_endpoint, formOf(given, given.user ?? ""))
    : askAsClient(found.token_endpoint, given.client, given));
  const body = (await answer.json().catch(() => ({}))) as TokenReply;
  if (answer.ok && body.access_token !== undefined) return body.access_token;
  if (body.error === "invalid_client")
    throw new Refusal(REFUSED, "The secret of this data folder is not the house's: name the house's own with --data.");
  throw new Refusal(REFUSED, `Refused: ${body.error_description ?? body.error ?? `status ${answer.status}`}`);
};

try {
  const given = readArguments();
  if (given.help === true) process.stderr.write(help);
  else if (given.code === true) process.stdout.write(`${codeNow()}\n`);
  else if (given.secret !== undefined) process.stdout.write(`${await clientSecret(given.secret, given.data)}\n`);
  else {
    requireSensible(given);
    process.stdout.write(`${await requestToken(given)}\n`);
  }
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
