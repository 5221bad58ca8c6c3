// `npm run token`: an access token of the embedded issuer, for dev and test. The bare token is the last line of standard
// output and nothing else stands there; whatever there is to say goes to standard error.
import { parseArgs } from "node:util";
import { demoSignIns } from "#demo/sign-ins.ts";
import { clientSecret, codeNow, requestToken, USAGE } from "./demo-token.ts";
import { Refusal } from "./refusal.ts";

const help = `npm run token -- --user NAME [--agent ID] [--acr strong] [--scope "a b"] [--aud URL] [--port 8080]
npm run token -- --client service:pep [--scope "a b"] [--aud URL] [--port 8080] [--data .sallyport]
npm run token -- --code
npm run token -- --secret ID [--data .sallyport]

Prints an access token of the running development instance: of a demo person (${demoSignIns.persons.map((row) => row.login).join(", ")}),
of an agent acting for that person (${demoSignIns.agents.map((row) => row.agent).join(", ")}),
or of a service client (${demoSignIns.services.map((row) => row.clientId).join(", ")}).

  --user NAME      demo person; person:NAME is understood too
  --agent ID       the agent that acts for the person
  --client ID      a service client instead of a person, proved by its own secret: that of Sallyport's data folder
  --acr strong     as after a sign-in with password and one-time code
  --scope "..."    narrower than all that the person, agent or client may have
  --aud URL        only for this service of Sallyport; may be repeated. Default: all of them
  --password WORD  default: the demo's
  --code           the one-time code of the moment instead of a token, for the sign-in page
  --secret ID      the secret of an agent or service client instead, for its own calls of the token endpoints
  --data DIR       data folder of Sallyport, of which --client and --secret make the client's secret; default .sallyport
  --port N         the gateway's port, default 8080; the issuer listens on the next one
`;

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
