import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Path inside the policy folder -> text. What a bundle is made of and how it is stored. */
export type PolicyFiles = Readonly<Record<string, string>>;

/** Schema, policies, obligations and templates of a folder, in byte order of their names. Other files are not looked at. */
export const readPolicyFolder = async (folder: string): Promise<PolicyFiles> => {
  const names = (await readdir(folder)).filter((name) => /\.(?:cedar|cedarschema|yaml)$/.test(name)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ""]));
};
