import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface TokenAsk {
  readonly user?: string;
  readonly agent?: string;
  readonly acr?: "strong";
  readonly client?: string;
  readonly scope?: string;
  readonly aud?: string;
}

/** What `npm run token` prints: the bare token on standard output, for the house on this port. */
export const fetchToken = async (port: number, ask: TokenAsk): Promise<string> => {
  const args = Object.entries(ask).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { stdout } = await run(process.execPath, [
    "--disable-warning=ExperimentalWarning",
    join(import.meta.dirname, "../scripts/token.ts"),
    "--port",
    String(port),
    ...args,
  ]);
  return stdout.trim();
};
