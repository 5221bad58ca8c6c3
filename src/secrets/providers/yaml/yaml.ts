import type { ProviderFinding, ProviderKind } from "#secrets/providers/provider-kind.ts";
import { parseVault } from "./vault-document.ts";
import { readVaultFile } from "./vault-file.ts";
import { createYamlProvider } from "./yaml-provider.ts";

const checkFile = async (path: string, isOpen: boolean): Promise<Omit<ProviderFinding, "area">> => {
  try {
    const bytes = await readVaultFile({ path, mayTighten: isOpen, onlyLooks: true, warn: () => undefined });
    if (bytes !== undefined) {
      parseVault(bytes.text);
      return { status: "ok", text: path };
    }
  } catch (error) {
    return { status: "fault", text: `YAML_VAULT_PATH: ${path} ${(error as Error).message}` };
  }
  return isOpen ? { status: "ok", text: `${path} will be made` } : { status: "fault", text: `YAML_VAULT_PATH: ${path} is not there` };
};

/** The secrets file. Its path is a setting of the service: the data folder has one without it. */
export const yaml = {
  settings: {},
  read: () => ({ stores: new Map(), issues: [] }),
  check: async ({ file, environment }) => ({
    findings: file === undefined ? [] : [{ area: "secrets", ...(await checkFile(file, environment !== "production")) }],
    stores: new Map(),
  }),
  open: async ({ file: path, environment, log, now }) =>
    path === undefined ? [] : [await createYamlProvider({ path, environment, log, now })],
} as const satisfies ProviderKind<object>;
