import type { PolicyReport } from "#contract/policies.ts";
import type { MatrixDifference, RolloutState } from "#contract/rollouts.ts";
import { Problem } from "#contract/problem.ts";
import { changedFiles, MAX_BUNDLE_BYTES, type PolicyFiles } from "#pdp/bundle/policy-files.ts";
import type { Version } from "#pdp/engine/engines.ts";
import type { Database } from "#store/database.ts";
import type { Follower } from "./follow-pointer.ts";
import type { Examiner, Urgency } from "#pdp/lifecycle/examine/examiner.ts";
import type { CompareMatrix } from "./matrix-difference.ts";
import { readPointer, requireEpoch, type Pointer } from "./pointer.ts";
import { findVersion, listVersions, readContent, type StoredContent, type StoredVersion } from "./version-store.ts";

export interface VersionReaderParts {
  readonly database: Database;
  readonly follower: Follower;
  readonly examiner: Examiner;
  readonly compareMatrix: CompareMatrix;
}

export type Changes = Readonly<Record<string, string | null>>;
const MAX_FILES = 200;

const notThere = (): Problem => new Problem("not_found", { detail: "There is no such version." });

/** What versions are and hold, and what they would decide; changes nothing. */
export const createVersionReader = ({ database, follower, examiner, compareMatrix }: VersionReaderParts) => {
  const requirePointer = async (ifMatch: string | null = null): Promise<Pointer> => {
    const pointer = await readPointer(database);
    if (pointer === undefined) throw new Problem("pdp_unavailable", { cause: "no pointer" });
    requireEpoch(ifMatch, pointer);
    return pointer;
  };
  const requireVersion = async (version: string): Promise<StoredVersion> => {
    const stored = await findVersion(database, version);
    if (stored === undefined) throw notThere();
    return stored;
  };
  const contentOf = async (version: string): Promise<StoredContent> => {
    const content = await readContent(database, version);
    if (content === undefined) throw notThere();
    return content;
  };
  /** The files that a request speaks of: its own over those of a version, the one that decides unless it names another. */
  const filesOf = async (asked: { readonly version?: string | undefined; readonly files?: Changes | undefined }): Promise<PolicyFiles> => {
    const base = asked.version === undefined ? (await requirePointer()).active : (await requireVersion(asked.version)).version;
    const files = changedFiles((await contentOf(base)).files, asked.files ?? {});
    const bytes = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    if (bytes > MAX_BUNDLE_BYTES || Object.keys(files).length > MAX_FILES)
      throw new Problem("too_large", { detail: `A version holds at most ${MAX_BUNDLE_BYTES} bytes in ${MAX_FILES} files.` });
    return files;
  };
  const decidingFiles = (): PolicyFiles => follower.engines.current().engine.bundle.files;
  const reportOf = (files: PolicyFiles, urgency: Urgency = "in turn"): Promise<PolicyReport> =>
    examiner.ask("report", { files, active: decidingFiles() }, urgency);

  /** The report of a version whose policies could decide, looked at anew. Throws `policy_invalid` with its report. */
  const requireReady = async (version: string, urgency: Urgency = "in turn"): Promise<PolicyReport> => {
    const report = await reportOf((await contentOf(version)).files, urgency);
    if (!report.valid) throw new Problem("policy_invalid", { errors: [...report.errors, ...report.lint], members: { report } });
    return report;
  };
  /** A version that decided before needs no case to pass again, for it is wanted in a hurry: it must load, and lock nobody out. */
  const requireLoadable = async (version: string): Promise<void> => {
    const { files } = await contentOf(version);
    const issues = await examiner.ask("loadIssues", { files, active: decidingFiles() }, "urgent");
    if (issues.length > 0) throw new Problem("policy_invalid", { errors: issues });
  };
  /** A stored version that may be asked things; a draft is looked at first. Throws `policy_invalid`, `not_found`. */
  const requireAskable = async (version: string, urgency: Urgency = "in turn"): Promise<StoredVersion> => {
    const stored = await requireVersion(version);
    if (stored.state === "draft") await requireReady(stored.version, urgency);
    return stored;
  };

  const versionOf = async (version: string): Promise<Version> => {
    const engine = await follower.engines.of(version);
    if (engine === undefined) throw notThere();
    return { version, engine };
  };
  const matrix = async (version: string, against: string, urgency: Urgency = "in turn"): Promise<MatrixDifference> => {
    const other = against === "active" ? (await requirePointer()).active : against;
    const askable = async (name: string) => {
      const { version: whole, digest } = await requireAskable(name, urgency);
      return { version: whole, digest, files: (await contentOf(whole)).files };
    };
    return compareMatrix(await askable(version), await askable(other), urgency);
  };

  return {
    requirePointer,
    requireVersion,
    requireReady,
    requireLoadable,
    requireAskable,
    versionOf,
    contentOf,
    filesOf,
    reportOf,
    matrix,
    list: (state: RolloutState | undefined, before: bigint | undefined, limit: number) => listVersions(database, { state, before, limit }),
  };
};

export type VersionReader = ReturnType<typeof createVersionReader>;
