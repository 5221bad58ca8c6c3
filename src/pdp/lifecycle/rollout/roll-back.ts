import { Problem } from "#contract/problem.ts";
import type { Database } from "#store/database.ts";
import type { Administrator } from "./guard-administration.ts";
import type { TurnPointer } from "./turn-pointer.ts";
import type { VersionReader } from "./version-reader.ts";
import { findLastRetired, type StoredVersion } from "./version-store.ts";

/** Lets a version decide that did before; `last`: the one before this. Throws `conflict`, `policy_invalid`, `stale_version`, `not_found`. */
export const createRollBack =
  (parts: { readonly database: Database; readonly reader: VersionReader; readonly turn: TurnPointer }) =>
  async (admin: Administrator, version: string, message: string | undefined, ifMatch: string | null): Promise<StoredVersion> => {
    const { reader } = parts;
    const from = await reader.requirePointer(ifMatch);
    const stored = version === "last" ? await findLastRetired(parts.database) : await reader.requireVersion(version);
    if (stored === undefined) throw new Problem("conflict", { detail: "No version decided before this one." });
    const name = stored.version;
    if (stored.state !== "retired")
      throw new Problem("conflict", { detail: `${name} is ${stored.state}: only one that decided before can again.` });
    await reader.requireLoadable(name);
    const data = { digest: stored.digest, message };
    return parts.turn(admin, { act: "rolled_back", version: name, from, to: { active: name, shadow: from.shadow }, data });
  };
