import type { Plugin } from "vite";

/**
 * All that is loaded first is one file. Without it each page that opens later cuts what it shares with the shell into files of their
 * own, and the sum grows with the number of pages.
 */
export const oneShell = (): Plugin => {
  const shell = new Set<string>();
  return {
    name: "sallyport:one-shell",
    config: () => ({
      build: { rolldownOptions: { output: { codeSplitting: { groups: [{ name: "shell", test: (id: string) => shell.has(id) }] } } } },
    }),
    buildEnd() {
      const reach = (id: string): void => {
        if (shell.has(id) || id.includes("node_modules")) return;
        shell.add(id);
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) reach(imported);
      };
      for (const id of this.getModuleIds()) if (this.getModuleInfo(id)?.isEntry === true) reach(id);
    },
  };
};
