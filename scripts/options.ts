import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

const USAGE = 64;

export interface GivenOptions {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

/**
 * What a script was asked to do, read before it does anything: `--help` prints the text and ends with 0, an option that it
 * does not know ends with 64.
 */
export const requireOptions = (help: string, options: ParseArgsOptionsConfig = {}, allowPositionals = false): GivenOptions => {
  try {
    const { values, positionals } = parseArgs({
      args: process.argv.slice(2),
      options: { ...options, help: { type: "boolean", short: "h" } },
      allowPositionals,
    });
    if (values["help"] === true) {
      process.stdout.write(help);
      process.exit(0);
    }
    return { values: values as GivenOptions["values"], positionals };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${help}`);
    process.exit(USAGE);
  }
};
