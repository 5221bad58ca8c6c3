import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { PdpConfig } from "#pdp/config.ts";
import { BundleRefused } from "./bundle-refused.ts";
import { shownFile } from "./findings.ts";

/** Path inside the policy folder (`pages.cedar`, `cases/pages.yaml`) -> text. What a bundle is made of and how it is stored. */
export type PolicyFiles = Readonly<Record<string, string>>;

const CASES = "cases";
/** Most that one bundle may hold. */
export const MAX_BUNDLE_BYTES = 2 * 1_048_576;

const namesIn = async (folder: string, fits: RegExp): Promise<readonly string[]> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  return entries.filter((entry) => entry.isFile() && fits.test(entry.name)).map((entry) => entry.name);
};

/**
 * Schema, policies, what they name, and the cases of a folder, in byte order of their names. Other files are not looked at. Throws
 * `BundleRefused` where the folder is not there.
 */
export const readPolicyFolder = async (folder: string): Promise<PolicyFiles> => {
  const [own, cases] = await Promise.all([namesIn(folder, /\.(?:cedar|cedarschema|yaml)$/), namesIn(join(folder, CASES), /\.yaml$/)]);
  if (own.length === 0) throw new BundleRefused([{ path: folder, file: folder, message: "holds no policies" }]);
  const names = [...own, ...cases.map((name) => `${CASES}/${name}`)].toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]));
};

const builtIn = fileURLToPath(new URL("../policies/", import.meta.url));

/** What goes with the built-in ones where secrets may be asked for without a token. */
const tokenlessPolicies = join(builtIn, "tokenless");

/**
 * The policies that a configuration file names, relative to it; the built-in ones unless it does, and with them, but with no others,
 * those that the settings add: what has the name of a built-in file goes before it. Throws `BundleRefused`.
 */
export const readPoliciesOf = async (
  policyDir: string | undefined,
  { configFile, morePolicies, anonymousTenant }: Pick<PdpConfig, "configFile" | "morePolicies" | "anonymousTenant">,
): Promise<PolicyFiles> => {
  const folder = policyDir === undefined ? builtIn : resolve(dirname(configFile), policyDir);
  if (relative(folder, builtIn) === "") {
    const more = [morePolicies, anonymousTenant === undefined ? undefined : tokenlessPolicies].filter((one) => one !== undefined);
    const [own, ...added] = await Promise.all([builtIn, ...more].map(readPolicyFolder));
    return added.reduce<PolicyFiles>(changedFiles, own ?? {});
  }
  return readPolicyFolder(folder).catch((error: unknown) => {
    if (!(error instanceof BundleRefused)) throw error;
    throw new BundleRefused(error.issues.map((issue) => ({ ...issue, message: `${issue.message} (policy_dir of ${configFile})` })));
  });
};

/** Files as the wire names them. */
export const shownFiles = (files: PolicyFiles): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [shownFile(name), text]));

/** The files after a change as the wire states it: `null` removes one. */
export const changedFiles = (files: PolicyFiles, changes: Readonly<Record<string, string | null>>): PolicyFiles => {
  const changed = new Map(Object.entries(files));
  for (const [path, text] of Object.entries(changes)) {
    const name = path.replace(/^policies\//, "");
    if (text === null) changed.delete(name);
    else changed.set(name, text);
  }
  return Object.fromEntries([...changed].toSorted(([a], [b]) => (a < b ? -1 : 1)));
};
