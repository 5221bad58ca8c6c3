import { lstat } from "node:fs/promises";
import { Problem } from "#contract/problem.ts";
import { secretStores } from "#contract/secret-schemes.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { createTenantTurns } from "#parsing/tenant-turns.ts";
import type { Intend, RemovedSecret, SecretProvider, WrittenSecret } from "#secrets/providers/secret-provider.ts";
import { isSecretMap, SecretValue, type SecretMap } from "#secrets/model/secret-value.ts";
import type { Log } from "#telemetry/log.ts";
import { valueAt, type VaultDone, type VaultWish } from "./vault-alter.ts";
import { NO_SECRETS } from "./vault-document.ts";
import { VaultFileError } from "./vault-file-error.ts";
import { digestOf, readVaultFile, removeLeftovers, replaceVaultFile } from "./vault-file.ts";
import { acquireVaultLock } from "./vault-lock.ts";
import { lookUp, nodesChanged, nodesRead, secretsBelow } from "./vault-tree.ts";
import { createAlterVault } from "./vault-work.ts";

export interface YamlProviderParts {
  /** YAML_VAULT_PATH. */
  readonly path: string;
  readonly environment: "dev" | "test" | "production";
  readonly log: Log;
  readonly now: () => Date;
}

const LOOK_EVERY_MS = 250;
/** Writes of one tenant. */
const MAX_WAITING_WRITES = 256;

const noVersions = (): never => {
  throw new Problem("not_supported", { detail: "The file keeps no versions." });
};

/**
 * A YAML file as a store of secrets: path = nested maps, key = key. Reads are served from memory; the file is looked at
 * each 250 ms at most; tenants take turns to write. A file that went bad leaves the last good content readable and refuses writes. Throws
 * `StartIssues` when it cannot start: file missing or unsafe outside dev and test, bad in any environment.
 */
export const createYamlProvider = async (parts: YamlProviderParts): Promise<SecretProvider> => {
  const isOpen = parts.environment === "dev" || parts.environment === "test";
  const { path, log } = parts;
  const fileOptions = { path, mayTighten: isOpen, warn: (event: string) => log.warn(event, { path }) };
  let root: SecretMap = new Map();
  let issue: string | undefined;
  let seen = "";
  let writes = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let reached = "";
  /** Of the bytes that `root` was read of. */
  let digest: string | undefined;
  const alter = createAlterVault();
  // One write at a time, of tenants in turns: a large file takes each of them seconds.
  const turn = createTenantTurns({
    maxWaiting: MAX_WAITING_WRITES,
    ended: (cause) => new Problem("busy", { detail: "Too many writes of the tenant wait.", headers: { "retry-after": "5" }, cause }),
  });

  const readBytes = async () => {
    const bytes = await readVaultFile(fileOptions);
    if (bytes === undefined && !isOpen) throw new VaultFileError("is not there");
    return bytes;
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
      if (present === "absent" && root.size > 0) throw new VaultFileError("is gone");
      const before = writes;
      const bytes = await readBytes();
      // What we wrote ourselves is known: only what somebody else wrote is read anew.
      if (bytes === undefined || bytes.digest !== digest) {
        const read = await alter(bytes?.text ?? NO_SECRETS, { kind: "read" });
        // What we wrote meanwhile is newer than what was read.
        if (before === writes) [root, digest] = [read.root, bytes?.digest];
      }
      issue = undefined;
    } catch (error) {
      if (!(error instanceof VaultFileError)) {
        // The file may be good: the next look reads it again.
        seen = "";
        throw error;
      }
      issue = error.message;
      log.error("secrets_file_invalid", { path, issue });
    }
  };

  /** Reads the file under its lock, makes the new one of it, and puts that in place; throws what must not happen. */
  const alterLocked = async (wish: VaultWish, intend: Intend | undefined): Promise<VaultDone> => {
    if (!isOpen) throw new Problem("provider_readonly");
    await using lock = await acquireVaultLock({ path: `${path}.lock` });
    const invalid = (cause: unknown): never => {
      if (!(cause instanceof VaultFileError)) throw cause;
      throw new Problem("file_invalid", { cause });
    };
    const bytes = await readBytes().catch(invalid);
    if (bytes === undefined && root.size > 0) throw new Problem("file_invalid", { detail: "The secrets file is gone." });
    const done = await alter(bytes?.text ?? NO_SECRETS, wish).catch(invalid);
    if (done.text === undefined) return done;
    if (wish.kind !== "read") {
      const map = lookUp(done.root, wish.ref.segments);
      await intend?.(wish.kind === "write" && isSecretMap(map) ? { wanted: "written", map } : { wanted: "deleted" });
    }
    await replaceVaultFile(path, done.text, async () => {
      await lock.requireHeld();
      if ((await readVaultFile(fileOptions))?.digest !== bytes?.digest)
        throw new Problem("cas_mismatch", { detail: "The secrets file was changed meanwhile." });
    });
    [root, digest] = [done.root, digestOf(done.text)];
    writes++;
    issue = undefined;
    // Looked at anew by the next read: another process may write between our rename and any look of ours.
    seen = "";
    lookedAt = Number.NEGATIVE_INFINITY;
    return done;
  };
  const inTurn = (wish: Exclude<VaultWish, { readonly kind: "read" }>, intend: Intend | undefined): Promise<VaultDone> =>
    turn({ tenant: wish.ref.tenant }, () => alterLocked(wish, intend));

  await removeLeftovers(path);
  await refresh();
  if (issue !== undefined) throw new StartIssues([{ path: "YAML_VAULT_PATH", message: `${path} ${issue}` }]);

  return {
    name: "yaml",
    schemes: ["yaml"],
    can: new Set(secretStores.yaml.can),
    isReadOnly: !isOpen,
    nodes: async (ref, change) => {
      await refresh();
      return change === undefined ? nodesRead(root, ref) : nodesChanged(root, ref, change);
    },
    read: async (ref) => {
      await refresh();
      return { value: new SecretValue(valueAt(root, ref)), nodes: nodesRead(root, ref) };
    },
    write: async (ref, change, expect) => {
      const { intend, ...rest } = expect;
      return (await inTurn({ kind: "write", ref, change, expect: rest }, intend)).result as WrittenSecret;
    },
    remove: async (ref, { decided, cas, onlyIf, stands, intend }) => {
      const wish = {
        kind: "remove",
        ref,
        decided,
        cas,
        stands,
        ...(onlyIf === undefined ? {} : { onlyIf: SecretValue.reveal(onlyIf.value) }),
      } as const;
      return (await inTurn(wish, intend)).result as RemovedSecret;
    },
    settle: async () => noVersions(),
    describe: async () => noVersions(),
    position: () => ({ cluster: "", value: undefined, place: "" }),
    reach: ({ value = "" }) => {
      // Written by a process of the deployment since: looked at whenever that was.
      if (value !== reached) lookedAt = Number.NEGATIVE_INFINITY;
      reached = value;
    },
    keys: async (ref) => {
      await refresh();
      const data = valueAt(root, ref);
      const entries = isSecretMap(data) ? [...data] : [];
      // A map below is a secret of its own.
      return {
        keys: entries.filter(([, item]) => !isSecretMap(item)).map(([name]) => name),
        nodes: entries.filter(([, item]) => isSecretMap(item)).map(([name]) => name),
      };
    },
    list: async (place, depth) => {
      await refresh();
      return { items: secretsBelow(root, place, depth).toSorted((one, other) => (one.node.id < other.node.id ? -1 : 1)) };
    },
    state: async () => {
      await refresh();
      return issue === undefined ? { status: "up" } : { status: "degraded", issue: "file_invalid" };
    },
  };
};
