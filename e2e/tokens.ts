import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface TokenAsk {
  readonly user?: string;
  readonly agent?: string;
  readonly acr?: "strong";
  readonly client?: string;
  /** The house's data folder, of which a client's secret is made. */
  readonly data?: string;
  readonly scope?: string;
  readonly aud?: string;
}

type Environment = Readonly<Record<string, string>>;

const print = async (args: readonly string[], environment: Environment = {}): Promise<string> => {
  const script = join(import.meta.dirname, "../scripts/token.ts");
  const options = { env: { ...process.env, ...environment } };
  const { stdout } = await run(process.execPath, ["--disable-warning=ExperimentalWarning", script, ...args], options);
  return stdout.trim();
};

/** What `npm run token` prints: the bare token on standard output, for the house on this port. */
export const fetchToken = async (port: number, ask: TokenAsk, environment?: Environment): Promise<string> =>
  await print(["--port", String(port), ...Object.entries(ask).flatMap(([name, value]) => [`--${name}`, String(value)])], environment);

/** The one-time code of the demo world's second factor, as an authenticator app would show it now. */
export const fetchCode = async (): Promise<string> => await print(["--code"]);

/** The secret with which this agent or service client of the demo proves itself to the house on that data folder. */
export const fetchSecret = async (data: string, clientId: string): Promise<string> => await print(["--secret", clientId, "--data", data]);
