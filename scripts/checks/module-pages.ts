import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { folders, webFolders } from "./import-table.ts";

const TABLE = "scripts/checks/import-table.ts";
const FILE = /^(?<module>src\/[^/]+|web\/src)\/(?:(?<folder>.+)\/)?(?<name>[^/]+)$/;
const isProduct = (name = ""): boolean => !/\.(?:test|contract)\.ts$|\.sql$/.test(name);
const orderOf = (module: string): readonly string[] => (module === "web/src" ? webFolders : (folders[module.slice("src/".length)] ?? []));

/**
 * Modules below `root` whose README.md is absent, does not name each folder of code, or names them in another order than the import
 * table; and folders that this table misses, where it has their module.
 */
export const modulePageIssues = (root: string): readonly string[] => {
  const files = globSync("{src/*,web/src}/**/*.{ts,tsx,sql}", { cwd: root }).map((path) => FILE.exec(path.replaceAll("\\", "/"))?.groups);
  return [...Map.groupBy(files, (file) => file?.["module"] ?? "")].flatMap(([module, of]) => {
    const page = join(root, module, "README.md");
    if (!existsSync(page)) return [`${module}/README.md is missing`];
    const named = [...readFileSync(page, "utf8").matchAll(/^- `(.+)\/`/gm)].map(([, folder = ""]) => folder);
    const order = orderOf(module);
    const foldersOf = (some: typeof files): readonly string[] => [...new Set(some.flatMap((file) => file?.["folder"] ?? []))];
    const unordered =
      order.length === 0 ? [] : foldersOf(of.filter((file) => isProduct(file?.["name"]))).filter((one) => !order.includes(one));
    const isOrdered = named.filter((folder) => order.includes(folder)).join() === order.filter((folder) => named.includes(folder)).join();
    return [
      ...foldersOf(of)
        .filter((folder) => !named.includes(folder))
        .map((folder) => `${module}/README.md does not name ${folder}/`),
      ...unordered.map((folder) => `${TABLE} does not name ${module}/${folder}/`),
      ...(isOrdered ? [] : [`${module}/README.md names its folders in another order than ${TABLE}`]),
    ];
  });
};
