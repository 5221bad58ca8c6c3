import type { PolicyReport } from "#contract/policies.ts";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/change.ts";
import { digestOf } from "#pdp/bundle/bundle.ts";
import type { Administrator } from "./guard-administration.ts";
import { createPromote } from "./promote.ts";
import { createRollBack } from "./roll-back.ts";
import { createTurn, tellOf } from "./turn-pointer.ts";
import { createVersionReader, type Changes, type VersionReaderParts } from "./version-reader.ts";
import { dropVersion, findDigest, storeDraft, type StoredVersion } from "./version-store.ts";

export interface RolloutParts extends VersionReaderParts {
  readonly change: Change;
}

/** What can be done to versions. Every change is one commit with its audit entry and events. */
export const createRollouts = (parts: RolloutParts) => {
  const { database, change, follower } = parts;
  const reader = createVersionReader(parts);
  const turn = createTurn({ change, follower, reader });

  return {
    ...reader,

    draft: async (
      admin: Administrator,
      asked: { readonly from_version?: string | undefined; readonly files: Changes; readonly message: string },
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
        return { result: { stored, report }, ...(await tellOf(sql, admin, "drafted", stored.version, data)) };
      });
    },

    drop: async (admin: Administrator, version: string, ifMatch: string | null): Promise<void> => {
      await reader.requirePointer(ifMatch);
      const stored = await reader.requireVersion(version);
      await change(async (sql) => {
        if (!(await dropVersion(sql, stored.version)))
          throw new Problem("not_a_draft", { detail: `${stored.version} is ${stored.state}.` });
        return { result: undefined, ...(await tellOf(sql, admin, "dropped", stored.version, { digest: stored.digest })) };
      });
    },

    promote: createPromote(reader, turn),
    rollBack: createRollBack({ database, reader, turn }),
  };
};

export type Rollouts = ReturnType<typeof createRollouts>;
