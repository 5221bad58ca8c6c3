import { lstat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Problem } from "#contract/problem.ts";
import { isSameData, isSecretMap, SecretValue, type SecretData, type SecretMap } from "#secrets/secret-value.ts";
import type {
  Removal,
  RemovedSecret,
  SecretChange,
  SecretProvider,
  WriteExpectation,
  WrittenSecret,
} from "#secrets/providers/secret-provider.ts";
import { StartFaults } from "#contract/start-faults.ts";
import type { SecretRef } from "#secrets/tenant-guard.ts";
import type { Log } from "#telemetry/log.ts";
import { parseVault, type Vault } from "./vault-document.ts";
import { applyChange, printVault, removeAt } from "./vault-edit.ts";
import { MAX_FILE_BYTES, readVaultFile, removeLeftovers, replaceVaultFile } from "./vault-file.ts";
import { VaultFault } from "./vault-fault.ts";
import { acquireVaultLock } from "./vault-lock.ts";
import { lookUp, nodesChanged, nodesRead, secretsBelow } from "./vault-tree.ts";

export interface YamlProviderParts {
  /** YAML_VAULT_PATH. */
  readonly path: string;
  readonly environment: "dev" | "test" | "production";
  readonly log: Log;
  readonly now: () => Date;
}

const LOOK_EVERY_MS = 250;

const noVersions = (): never => {
  throw new Problem("not_supported", { detail: "The file keeps no versions." });
};

/** Throws `secret_not_found`, `key_not_found`. */
const valueAt = (root: SecretMap, ref: SecretRef): SecretData => {
  const node = lookUp(root, ref.segments);
  if (!isSecretMap(node)) throw new Problem("secret_not_found");
  if (ref.key === undefined) return node;
  const value = node.get(ref.key);
  if (value === undefined) throw new Problem("key_not_found");
  return value;
};

/**
 * A YAML file as a store of secrets: path = nested maps, key = key. Reads are served from memory; the file is looked at
 * each 250 ms at most. A file that went bad leaves the last good content readable and refuses writes. Throws
 * `StartFaults` when it cannot start: file missing or unsafe outside dev and test, bad in any environment.
 */
export const createYamlProvider = async (parts: YamlProviderParts): Promise<SecretProvider> => {
  const isOpen = parts.environment === "dev" || parts.environment === "test";
  const { path, log } = parts;
  const fileOptions = { path, mayTighten: isOpen, warn: (event: string) => log.warn(event, { path }) };
  let root: SecretMap = new Map();
  let fault: string | undefined;
  let seen = "";
  let lookedAt = Number.NEGATIVE_INFINITY;
  let queue: Promise<unknown> = Promise.resolve();

  const load = async (): Promise<Vault & { readonly digest: string | undefined }> => {
    const bytes = await readVaultFile(fileOptions);
    if (bytes === undefined && !isOpen) throw new VaultFault("is not there");
    return { ...parseVault(bytes?.text ?? ""), digest: bytes?.digest };
  };

  /** Identity and times of the file; equal = not changed. */
  const footprint = async (): Promise<string> => {
    const stats = await lstat(path, { bigint: true }).catch(() => undefined);
    return stats === undefined ? "absent" : `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
  };

  const refresh = async (): Promise<void> => {
    const now = parts.now().getTime();
    if (now - lookedAt < LOOK_EVERY_MS && now >= lookedAt) return;
    lookedAt = now;
    const present = await footprint();
    if (present === seen) return;
    try {
      // Taken before the read: a change during the read makes the next look read again.
      seen = present;
      if (present === "absent" && root.size > 0) throw new VaultFault("is gone");
      root = (await load()).root;
      fault = undefined;
    } catch (error) {
      if (!(error instanceof VaultFault)) throw error;
      fault = error.message;
      log.error("secrets_file_invalid", { path, fault });
    }
  };

  const requireUsable = (expect: WriteExpectation, present: SecretMap, ref: SecretRef, change: SecretChange): void => {
    if (expect.cas !== undefined && expect.cas !== 0)
      throw new Problem("not_supported", { detail: "The file keeps no versions: only cas 0." });
    if (expect.cas === 0 && isSecretMap(lookUp(present, ref.segments)))
      throw new Problem("cas_mismatch", { detail: "There is something at this path already." });
    if (!nodesChanged(present, ref, change).every((node) => expect.decided.has(node.id)))
      throw new Problem("busy", { detail: "The file changed after the decision." });
  };

  /** Reads the file under its lock, lets `edit` change the document, and puts it in place; `edit` throws what must not happen. */
  const alterLocked = async <T>(edit: (vault: Vault) => T): Promise<T> => {
    if (!isOpen) throw new Problem("provider_readonly");
    await using lock = await acquireVaultLock({ path: `${path}.lock` });
    const vault = await load().catch((cause: unknown) => {
      if (!(cause instanceof VaultFault)) throw cause;
      throw new Problem("file_invalid", { cause });
    });
    if (vault.digest === undefined && root.size > 0) throw new Problem("file_invalid", { detail: "The secrets file is gone." });
    // The file is parsed, printed and parsed again: between them others have their turn. Whoever changes it meanwhile is noticed below.
    await nextTurn();
    const result = edit(vault);
    const text = printVault(vault.document);
    await nextTurn();
    const written = readBack(text);
    await replaceVaultFile(path, text, async () => {
      await lock.requireHeld();
      if ((await readVaultFile(fileOptions))?.digest !== vault.digest)
        throw new Problem("cas_mismatch", { detail: "The secrets file was changed meanwhile." });
    });
    root = written;
    fault = undefined;
    // Looked at anew by the next read: another process may write between our rename and any look of ours.
    seen = "";
    lookedAt = Number.NEGATIVE_INFINITY;
    return result;
  };
  const inTurn = <T>(edit: (vault: Vault) => T): Promise<T> => {
    const done = queue.then(() => alterLocked(edit));
    queue = done.catch(() => undefined);
    return done;
  };

  const write = (vault: Vault, ref: SecretRef, change: SecretChange, expect: WriteExpectation): WrittenSecret => {
    requireUsable(expect, vault.root, ref, change);
    const node = lookUp(vault.root, ref.segments);
    const existed = ref.key === undefined ? isSecretMap(node) : isSecretMap(node) && node.has(ref.key);
    if (expect.mustNotExist === true && existed) throw new Problem("target_exists");
    if (expect.mustExist === true && !isSecretMap(node)) throw new Problem("secret_not_found");
    applyChange(vault.document, ref, change);
    return { created: !existed };
  };

  const remove = (vault: Vault, ref: SecretRef, how: Removal): RemovedSecret => {
    const found = valueAt(vault.root, ref);
    if (!nodesRead(vault.root, ref).every((node) => how.decided.has(node.id)))
      throw new Problem("busy", { detail: "The file changed after the decision." });
    if (how.onlyIf !== undefined && !isSameData(found, SecretValue.reveal(how.onlyIf.value))) throw new Problem("source_changed");
    removeAt(vault.document, ref);
    return { result: "removed" };
  };

  /** What was made must be a file that this provider would read. */
  const readBack = (text: string): SecretMap => {
    if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new Problem("value_too_large", { detail: "The secrets file would be too large." });
    try {
      return parseVault(text).root;
    } catch (cause) {
      throw new Problem("value_too_deep", { detail: "The secrets file would be nested too deeply.", cause });
    }
  };

  await removeLeftovers(path);
  await refresh();
  if (fault !== undefined) throw new StartFaults([{ path: "YAML_VAULT_PATH", message: `${path} ${fault}` }]);

  return {
    name: "yaml",
    schemes: ["yaml"],
    can: new Set(["read_plain", "read_value", "write", "remove", "list"]),
    nodes: async (ref, change) => {
      await refresh();
      return change === undefined ? nodesRead(root, ref) : nodesChanged(root, ref, change);
    },
    read: async (ref) => {
      await refresh();
      return { value: new SecretValue(valueAt(root, ref)), nodes: nodesRead(root, ref) };
    },
    write: (ref, change, expect) => inTurn((vault) => write(vault, ref, change, expect)),
    remove: (ref, how) => inTurn((vault) => remove(vault, ref, how)),
    settle: async () => noVersions(),
    describe: async () => noVersions(),
    list: async (place, depth) => {
      await refresh();
      return { items: secretsBelow(root, place, depth).toSorted((one, other) => (one.node.id < other.node.id ? -1 : 1)) };
    },
    state: async () => {
      await refresh();
      return fault === undefined ? { status: "up" } : { status: "degraded", fault };
    },
  };
};
