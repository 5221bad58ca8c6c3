import type { PolicyReport } from "#contract/policies.ts";
import type { BodyOf } from "#contract/endpoint.ts";
import type { createRollout } from "#contract/rollouts.ts";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import { digestOf } from "#pdp/bundle/bundle.ts";
import type { Administrator } from "./guard-administration.ts";
import { createPromote, createTurn } from "./promote.ts";
import { tellOf } from "./policy-events.ts";
import { createVersionReader, type VersionReaderParts } from "./version-reader.ts";
import { dropVersion, findDigest, findLastRetired, storeDraft, type StoredVersion } from "./version-store.ts";

/** What can be done to versions. Every change is one commit with its audit entry and events. */
export const createRollouts = (
  parts: VersionReaderParts & {
    readonly change: Change;
  },
) => {
  const { database, change, follower } = parts;
  const reader = createVersionReader(parts);
  const turn = createTurn({ change, follower }, reader);

  return {
    ...reader,

    draft: async (
      admin: Administrator,
      asked: BodyOf<typeof createRollout>,
      ifMatch: string | null,
    ): Promise<{ readonly stored: StoredVersion; readonly report: PolicyReport }> => {
      await reader.requirePointer(ifMatch);
      const files = await reader.filesOf({ version: asked.from_version, files: asked.files });
      const digest = digestOf(files);
      const report = await reader.reportOf(files);
      return change(async (sql) => {
        const stored = await storeDraft(sql, { digest, files, report, message: asked.message, by: admin.by.subject });
        if (stored === undefined) {
          const version = (await findDigest(sql, digest))?.version;
          throw new Problem("already_exists", { detail: `These very files are ${version ?? "a version"} already.`, members: { version } });
        }
        const data = { digest, valid: report.valid, cases_failed: report.cases.failed.length };
        return { result: { stored, report }, ...(await tellOf(sql, admin.by, "drafted", stored.version, data)) };
      });
    },

    drop: async (admin: Administrator, version: string, ifMatch: string | null): Promise<void> => {
      await reader.requirePointer(ifMatch);
      const stored = await reader.requireVersion(version);
      await change(async (sql) => {
        if (!(await dropVersion(sql, stored.version)))
          throw new Problem("not_a_draft", { detail: `${stored.version} is ${stored.state}.` });
        return { result: undefined, ...(await tellOf(sql, admin.by, "dropped", stored.version, { digest: stored.digest })) };
      });
    },

    promote: createPromote(reader, turn),

    /** Lets a version decide that did before; `last`: the one before this. Throws `conflict`, `policy_invalid`, `stale_version`, `not_found`. */
    rollBack: async (
      admin: Administrator,
      version: string,
      message: string | undefined,
      ifMatch: string | null,
    ): Promise<StoredVersion> => {
      const from = await reader.requirePointer(ifMatch);
      const stored = version === "last" ? await findLastRetired(database) : await reader.requireVersion(version);
      if (stored === undefined) throw new Problem("conflict", { detail: "No version decided before this one." });
      const name = stored.version;
      if (stored.state !== "retired")
        throw new Problem("conflict", { detail: `${name} is ${stored.state}: only one that decided before can again.` });
      await reader.requireLoadable(name);
      const data = { digest: stored.digest, message };
      return turn(admin, { act: "rolled_back", version: name, from, to: { active: name, shadow: from.shadow }, data });
    },
  };
};

export type Rollouts = ReturnType<typeof createRollouts>;
