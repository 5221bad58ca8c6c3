import { Problem } from "#contract/problem.ts";
import { inspectBundle } from "#pdp/bundle/bundle.ts";
import { createEngine, type Engine } from "#pdp/engine.ts";
import type { Database } from "#store/database.ts";
import type { Administrator } from "./guard-administration.ts";
import { findLockout } from "./lockout.ts";
import type { TurnPointer } from "./turn-pointer.ts";
import type { VersionReader } from "./version-reader.ts";
import { findLastRetired, type StoredContent, type StoredVersion } from "./version-store.ts";

/** What decided before needs no case to pass again, for it is wanted in a hurry: it must load, and lock nobody out. */
const requireLoadable = ({ files }: StoredContent, active: Engine): void => {
  const { bundle, findings } = inspectBundle(files);
  if (bundle === undefined) throw new Problem("policy_invalid", { errors: [...findings.errors, ...findings.lint] });
  const lockout = findLockout(active, createEngine(bundle));
  if (lockout !== undefined) throw new Problem("policy_invalid", { errors: [lockout] });
};

/** Lets a version decide that did before; `last`: the one before this. Throws `conflict`, `policy_invalid`, `stale_version`, `not_found`. */
export const createRollBack =
  (parts: {
    readonly database: Database;
    readonly reader: VersionReader;
    readonly turn: TurnPointer;
    readonly activeEngine: () => Engine;
  }) =>
  async (admin: Administrator, version: string, message: string | undefined, ifMatch: string | null): Promise<StoredVersion> => {
    const { reader } = parts;
    const from = await reader.requirePointer(ifMatch);
    const stored = version === "last" ? await findLastRetired(parts.database) : await reader.requireVersion(version);
    if (stored === undefined) throw new Problem("conflict", { detail: "No version decided before this one." });
    const name = stored.version;
    if (stored.state !== "retired")
      throw new Problem("conflict", { detail: `${name} is ${stored.state}: only one that decided before can again.` });
    requireLoadable(await reader.contentOf(name), parts.activeEngine());
    const data = { digest: stored.digest, ...(message === undefined ? {} : { message }) };
    return parts.turn(admin, { act: "rolled_back", version: name, from, to: { active: name, shadow: from.shadow }, data });
  };
