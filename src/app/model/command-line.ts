import { parseArgs } from "node:util";

/** Parts of Sallyport that can be served; together or apart. */
export const partNames = ["gateway", "issuer", "pdp", "crud", "membership", "secrets"] as const;
export type PartName = (typeof partNames)[number];

export interface CommandLine {
  readonly serve: ReadonlySet<PartName>;
  /** The gateway's port; the others count up from it. */
  readonly port: number;
  readonly data: string;
  readonly config: string;
  readonly demo: boolean;
  readonly help: boolean;
}

export const helpText = `Sallyport: one governed gate for people and AI agents.

  npm start -- [options]

  --serve a,b,..   only these parts: ${partNames.join(", ")} (default: all; fewer need one PostgreSQL, DATABASE_URL,
                   but for pdp,issuer,gateway with a --config whose facts are a file)
  --port N         gateway's port (default 8080); issuer N+1, pdp N+2, crud N+3, membership N+4, secrets N+5, demo upstream N+10
  --data DIR       where everything is kept (default .sallyport/)
  --config DIR     routes, systems, tools, policies (default config/); what the demo adds lies in its demo/
  --demo           with the demo world: the default, and refused where ENVIRONMENT is production
  --no-demo        without it
  --help           this text

Settings come from the environment; docs/reference/configuration.md lists them, npm run doctor checks them.
`;

/** Thrown with every issue of the command line at once. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const parseServe = (text: string | undefined, issues: string[]): ReadonlySet<PartName> => {
  if (text === undefined) return new Set(partNames);
  const names = text.split(",").map((name) => name.trim());
  for (const name of names) {
    if (!(partNames as readonly string[]).includes(name)) issues.push(`--serve: "${name}" is not one of ${partNames.join(", ")}`);
  }
  return new Set(names as PartName[]);
};

const parsePort = (text: string | undefined, issues: string[]): number => {
  const port = Number(text ?? "8080");
  if (!/^[0-9]+$/.test(text ?? "8080") || port < 1 || port > 65_525) issues.push(`--port: "${text}" is not a port from 1 to 65525`);
  return port;
};

export const parseCommandLine = (argv: readonly string[]): CommandLine => {
  let values: { serve?: string; port?: string; data?: string; config?: string; demo?: boolean; help?: boolean };
  try {
    values = parseArgs({
      args: [...argv],
      strict: true,
      allowPositionals: false,
      allowNegative: true,
      options: {
        serve: { type: "string" },
        port: { type: "string" },
        data: { type: "string" },
        config: { type: "string" },
        demo: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const issues: string[] = [];
  const serve = parseServe(values.serve, issues);
  const port = parsePort(values.port, issues);
  if (issues.length > 0) throw new UsageError(issues.join("\n"));
  return {
    serve,
    port,
    data: values.data ?? ".sallyport",
    config: values.config ?? "config",
    demo: values.demo !== false,
    help: values.help === true,
  };
};
