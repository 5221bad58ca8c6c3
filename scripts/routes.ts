// `npm run routes`: what a request would meet at the running gateway, taking up a changed route table, and checking one
// without a gateway.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { explanation, routesReloaded, type ExplainRequest } from "#contract/routes.ts";
import type { Issue } from "#contract/problem.ts";
import { issueLine } from "#contract/start-issues.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import { parseCommandLine } from "#app/model/command-line.ts";
import { readInstanceSettings } from "#app/model/settings.ts";
import { checkRoutes } from "#app/start/check-routes.ts";
import { planStart } from "#app/start/start-plan.ts";
import { askInstance } from "./ask-instance.ts";
import { explanationText } from "./routes/explanation-text.ts";
import { Refusal } from "./refusal.ts";

const help = `npm run routes -- explain METHOD TARGET [--user NAME] [--agent ID] [--acr strong] [--credential none] [--host HOST] [--body FILE] [--json]
npm run routes -- reload
npm run routes -- check [--config DIR]

  explain          which row, credential, mapping and upstream the request would take at the running gateway, and its answer
  reload           have the running gateway take up the changed route table; a faulty one changes nothing
  check            read the table as a start would, without a gateway; every fault with file:line:column

  --user NAME      for whom (person:NAME); default: whoever asks
  --agent ID       the agent that acts for --user
  --acr strong     as after a sign-in with a second factor, just now
  --credential K   session, bearer, both or none; default: bearer for an agent, else session
  --host HOST      the rows that protect this host by forward-auth, as its proxy would ask about it
  --body FILE      JSON body of the request
  --json           the whole explanation
  --as NAME        demo person who asks, default ada. In production put a token in SALLYPORT_TOKEN instead
  --origin URL     the gateway, default http://localhost:<port>
  --port N         default 8080
  --config DIR     folder of routes.yaml and pdp.yaml for check, default config/
`;

// Exit codes of sysexits.h: 64 usage, 65 not understood, 69 no gateway, 77 not permitted, 78 issues in the table.

const from = process.env["SALLYPORT_INVOKED_FROM"] ?? process.cwd();

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        user: { type: "string" },
        agent: { type: "string" },
        acr: { type: "string" },
        credential: { type: "string" },
        host: { type: "string" },
        body: { type: "string" },
        json: { type: "boolean", default: false },
        as: { type: "string", default: "ada" },
        origin: { type: "string" },
        port: { type: "string", default: "8080" },
        config: { type: "string", default: "config" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new Refusal(64, `${(error as Error).message}\n\n${help}`);
  }
};
type Given = ReturnType<typeof readArguments>["values"];

const post = async (given: Given, path: string, body?: unknown): Promise<unknown> => {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), type: "application/json" };
  return (await askInstance(given, 0, { method: "POST", path, ...sent })).json();
};

const explain = async (given: Given, [method, target, ...rest]: readonly string[]): Promise<void> => {
  if (method === undefined || target === undefined || rest.length > 0) throw new Refusal(64, help);
  if (given.user === undefined && (given.agent ?? given.acr) !== undefined) throw new Refusal(64, "--agent and --acr go with --user.");
  const text = given.body === undefined ? undefined : await readFile(resolve(from, given.body));
  const subject =
    given.user === undefined
      ? {}
      : {
          subject: {
            id: given.user.includes(":") ? given.user : `person:${given.user}`,
            ...(given.agent === undefined ? {} : { agent: given.agent }),
            ...(given.acr === undefined
              ? {}
              : { acr: given.acr as "strong", amr: ["pwd", "otp"], auth_time: Math.floor(Date.now() / 1000) }),
          },
        };
  const ask: ExplainRequest = {
    method,
    target,
    ...(given.host === undefined ? {} : { host: given.host }),
    ...subject,
    credential: (given.credential as ExplainRequest["credential"]) ?? (given.agent === undefined ? "session" : "bearer"),
    ...(text === undefined ? {} : { body: parseStrictJson(text) }),
  };
  const explained = explanation.parse(await post(given, "/api/v1/routes/explain", ask));
  process.stdout.write(given.json ? `${JSON.stringify(explained, null, 2)}\n` : explanationText(method, target, explained));
};

const reload = async (given: Given): Promise<void> => {
  const { revision, previous, ...changes } = routesReloaded.parse(await post(given, "/api/v1/routes/reload"));
  const lines = Object.entries(changes).map(([what, ids]) => `${what.padEnd(10)} ${ids.length === 0 ? "-" : ids.join(", ")}\n`);
  process.stdout.write(`${previous === revision ? `${revision}, as before` : `${previous} -> ${revision}`}\n${lines.join("")}`);
};

const check = async (given: Given): Promise<void> => {
  const environment = { ...process.env, ENVIRONMENT: process.env["ENVIRONMENT"] || "dev" };
  const { settings, issues } = readInstanceSettings(environment);
  if (issues.length > 0) throw new Refusal(78, issues.map(issueLine).join("\n"));
  const commandLine = parseCommandLine(["--port", given.port, "--config", given.config, "--no-demo"]);
  const plan = planStart({ commandLine, settings, environment, from });
  const { table, warnings } = await checkRoutes(plan);
  for (const warning of warnings) process.stderr.write(`warning: ${issueLine(warning)}\n`);
  process.stdout.write(`${plan.routesFile}: ${table.routes.length} rows, no fault, revision ${table.revision}\n`);
};

try {
  const { values, positionals } = readArguments();
  const [task, ...rest] = positionals;
  if (values.help === true) process.stdout.write(help);
  else if (task === "explain") await explain(values, rest);
  else if (task === "reload" && rest.length === 0) await reload(values);
  else if (task === "check" && rest.length === 0) await check(values);
  else throw new Refusal(64, help);
} catch (error) {
  const { issues } = error as { issues?: readonly Issue[] };
  if (!(error instanceof Refusal) && issues === undefined) throw error;
  process.stderr.write(`${issues === undefined ? (error as Error).message : issues.map(issueLine).join("\n")}\n`);
  process.exitCode = error instanceof Refusal ? error.exitCode : 78;
}
