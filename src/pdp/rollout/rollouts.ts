import type { PolicyReport } from "#contract/policies.ts";
import type { MatrixDifference, RolloutState } from "#contract/rollouts.ts";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/change.ts";
import { digestOf, inspectBundle } from "#pdp/bundle/bundle.ts";
import { changedFiles, MOST_BUNDLE_BYTES, type PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { createEngine } from "#pdp/engine.ts";
import type { Version } from "#pdp/engines.ts";
import type { Database, Sql } from "#store/database.ts";
import { requireEpoch } from "./epoch-tag.ts";
import type { Follower } from "./follow-pointer.ts";
import type { Administrator } from "./guard-administration.ts";
import { findLockout } from "./lockout.ts";
import type { CompareMatrix } from "./matrix-difference.ts";
import { movePointer, readPointer, type Pointer } from "./pointer.ts";
import { makeReport, type Reported } from "./report.ts";
import { entryOf, eventsOf, type PolicyAct } from "./tell.ts";
import {
  dropVersion,
  findDigest,
  findLastRetired,
  findVersion,
  listVersions,
  readContent,
  storeDraft,
  type StoredVersion,
} from "./version-store.ts";

export interface RolloutParts {
  readonly database: Database;
  readonly change: Change;
  readonly follower: Follower;
  readonly compareMatrix: CompareMatrix;
}

export type Changes = Readonly<Record<string, string | null>>;
const MOST_FILES = 200;

/** What can be done to versions. Every change is one commit with its audit entry and events. */
export const createRollouts = ({ database, change, follower, compareMatrix }: RolloutParts) => {
  const requirePointer = async (ifMatch: string | null = null): Promise<Pointer> => {
    const pointer = await readPointer(database);
    if (pointer === undefined) throw new Problem("pdp_unavailable", { cause: "no pointer" });
    requireEpoch(ifMatch, pointer);
    return pointer;
  };
  const requireVersion = async (version: string): Promise<StoredVersion> => {
    const stored = await findVersion(database, version);
    if (stored === undefined) throw new Problem("not_found", { detail: "There is no such version." });
    return stored;
  };
  const contentOf = async (version: string) => {
    const content = await readContent(database, version);
    if (content === undefined) throw new Problem("not_found", { detail: "There is no such version." });
    return content;
  };
  /** The files that a request speaks of: its own over those of a version, the one that decides unless it names another. */
  const filesOf = async (asked: { readonly version?: string | undefined; readonly files?: Changes | undefined }): Promise<PolicyFiles> => {
    const base = asked.version === undefined ? (await requirePointer()).active : (await requireVersion(asked.version)).version;
    const files = changedFiles((await contentOf(base)).files, asked.files ?? {});
    const bytes = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    if (bytes > MOST_BUNDLE_BYTES || Object.keys(files).length > MOST_FILES)
      throw new Problem("too_large", { detail: `A version holds at most ${MOST_BUNDLE_BYTES} bytes in ${MOST_FILES} files.` });
    return files;
  };
  const activeEngine = () => follower.engines.current().engine;
  const reportOf = (files: PolicyFiles): Promise<Reported> => makeReport(files, activeEngine());

  /** A version that may be asked things. Throws `policy_invalid` with its report. */
  const askable = async (version: string): Promise<Version & { readonly report: PolicyReport }> => {
    const { report, ready } = await reportOf((await contentOf(version)).files);
    if (ready === undefined) throw new Problem("policy_invalid", { errors: [...report.errors, ...report.lint], members: { report } });
    return { version, engine: ready.engine, report };
  };
  const matrix = async (version: string, against: string): Promise<MatrixDifference> => {
    const [one, other] = [
      await requireVersion(version),
      await requireVersion(against === "active" ? (await requirePointer()).active : against),
    ];
    const engineOf = async ({ version: name, state }: StoredVersion): Promise<Version> => {
      if (state === "draft") return askable(name);
      const engine = await follower.engines.of(name);
      if (engine === undefined) throw new Problem("not_found", { detail: "There is no such version." });
      return { version: name, engine };
    };
    return compareMatrix(await engineOf(one), await engineOf(other));
  };

  const tell = async (sql: Sql, admin: Administrator, act: PolicyAct, version: string, data: Readonly<Record<string, unknown>>) => ({
    entries: [entryOf(admin.by, act, version, data)],
    events: await eventsOf(sql, admin.by, act, version, data),
  });
  /** Moves the pointer in one commit with what is told of it; this process follows before it resolves. */
  const turn = async (
    admin: Administrator,
    act: PolicyAct,
    version: string,
    from: Pointer,
    to: Pick<Pointer, "active" | "shadow">,
    data: Readonly<Record<string, unknown>>,
  ): Promise<StoredVersion> => {
    await change(async (sql) => {
      const epoch = await movePointer(sql, from, to);
      return { result: undefined, ...(await tell(sql, admin, act, version, { from: from.active, epoch: Number(epoch), ...data })) };
    });
    await follower.refresh();
    return requireVersion(version);
  };

  return {
    filesOf,
    reportOf,
    matrix,
    requirePointer,
    requireVersion,
    /** A stored version that may be asked things; a draft is looked at first. Throws `policy_invalid`, `not_found`. */
    requireAskable: async (version: string): Promise<StoredVersion> => {
      const stored = await requireVersion(version);
      if (stored.state === "draft") await askable(stored.version);
      return stored;
    },
    contentOf,
    list: (state: RolloutState | undefined, before: bigint | undefined, limit: number) => listVersions(database, { state, before, limit }),

    draft: async (
      admin: Administrator,
      asked: { readonly from_version?: string | undefined; readonly files: Changes; readonly message: string },
      ifMatch: string | null,
    ): Promise<{ readonly stored: StoredVersion; readonly report: PolicyReport }> => {
      await requirePointer(ifMatch);
      const files = await filesOf({ version: asked.from_version, files: asked.files });
      const digest = digestOf(files);
      const { report } = await reportOf(files);
      return change(async (sql) => {
        const stored = await storeDraft(sql, { digest, files, report, message: asked.message, by: admin.by.subject });
        if (stored === undefined) {
          const version = (await findDigest(sql, digest))?.version;
          throw new Problem("already_exists", { detail: `These very files are ${version ?? "a version"} already.`, members: { version } });
        }
        const data = { digest, valid: report.valid, cases_failed: report.cases.failed.length };
        return { result: { stored, report }, ...(await tell(sql, admin, "drafted", stored.version, data)) };
      });
    },

    drop: async (admin: Administrator, version: string, ifMatch: string | null): Promise<void> => {
      await requirePointer(ifMatch);
      const stored = await requireVersion(version);
      await change(async (sql) => {
        if (!(await dropVersion(sql, stored.version)))
          throw new Problem("not_a_draft", { detail: `${stored.version} is ${stored.state}.` });
        return { result: undefined, ...(await tell(sql, admin, "dropped", stored.version, { digest: stored.digest })) };
      });
    },

    promote: async (
      admin: Administrator,
      version: string,
      asked: { readonly to: "draft" | "shadow" | "active"; readonly acknowledged_diff?: string | undefined },
      ifMatch: string | null,
    ): Promise<StoredVersion> => {
      const pointer = await requirePointer(ifMatch);
      const stored = await requireVersion(version);
      const name = stored.version;
      if (asked.to === "draft") {
        if (pointer.shadow !== name) throw new Problem("conflict", { detail: `${name} is not in the shadow.` });
        return turn(admin, "unshadowed", name, pointer, { active: pointer.active, shadow: null }, {});
      }
      if (stored.state === "active" || stored.state === "retired")
        throw new Problem("conflict", { detail: `${name} is ${stored.state}${stored.state === "retired" ? ": roll back to it" : ""}.` });
      if (stored.state === "shadow" && asked.to === "shadow")
        throw new Problem("conflict", { detail: `${name} is in the shadow already.` });
      const { engine, report } = await askable(name);
      if (report.cases.failed.length > 0) throw new Problem("cases_failed", { members: { report } });
      if (asked.to === "shadow") return turn(admin, "shadowed", name, pointer, { active: pointer.active, shadow: name }, {});
      const difference = await matrix(name, pointer.active);
      if (asked.acknowledged_diff !== difference.digest)
        throw new Problem("matrix_not_acknowledged", {
          detail: "Look at the cells that change and name the digest of the difference.",
          members: { report, matrix: difference },
        });
      if (!(await admin.keepsRight({ version: name, engine })))
        throw new Problem("policy_invalid", {
          errors: [
            {
              path: "policies:activate",
              code: "locks_yourself_out",
              message: "denies policies/activate to you, who activates it: you could not take it back",
              hint: "Let somebody activate it who keeps the right.",
            },
          ],
          members: { report },
        });
      const shadow = pointer.shadow === name ? null : pointer.shadow;
      const data = { digest: stored.digest, matrix_changes: difference.changed.length, matrix_digest: difference.digest };
      return turn(admin, "activated", name, pointer, { active: name, shadow }, data);
    },

    rollBack: async (
      admin: Administrator,
      version: string,
      message: string | undefined,
      ifMatch: string | null,
    ): Promise<StoredVersion> => {
      const pointer = await requirePointer(ifMatch);
      const stored = version === "last" ? await findLastRetired(database) : await requireVersion(version);
      if (stored === undefined) throw new Problem("conflict", { detail: "No version decided before this one." });
      if (stored.state !== "retired")
        throw new Problem("conflict", { detail: `${stored.version} is ${stored.state}: only one that decided before can again.` });
      const { bundle, findings } = inspectBundle((await contentOf(stored.version)).files);
      const lockout = bundle === undefined ? undefined : findLockout(activeEngine(), createEngine(bundle));
      if (bundle === undefined || lockout !== undefined)
        throw new Problem("policy_invalid", { errors: lockout === undefined ? [...findings.errors, ...findings.lint] : [lockout] });
      const data = { digest: stored.digest, ...(message === undefined ? {} : { message }) };
      return turn(admin, "rolled_back", stored.version, pointer, { active: stored.version, shadow: pointer.shadow }, data);
    },
  };
};

export type Rollouts = ReturnType<typeof createRollouts>;
