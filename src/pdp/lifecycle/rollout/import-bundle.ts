import type { PolicyReport } from "#contract/policies.ts";
import { issueLine } from "#contract/start-issues.ts";
import type { Change } from "#events/changes/change.ts";
import { digestOf } from "#pdp/bundle/bundle.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import type { Finding } from "#pdp/bundle/findings.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { sharedEngine } from "#pdp/engine/engine.ts";
import { statement, type Database, type Sql } from "#store/database.ts";
import { LOCKS_OUT } from "#pdp/lifecycle/examine/lockout.ts";
import { markImported, movePointer, placePointer, readPointer, lockPointer, type Pointer } from "./pointer.ts";
import { reportIssues, lookAt, makeReport } from "#pdp/lifecycle/examine/report.ts";
import { policyEntry, policyEvents, instanceChanger } from "./policy-events.ts";
import { findDigest, readStoredBundle, storeDraft } from "./version-store.ts";

export interface Imported {
  readonly active: string;
  /** The files of this start became a draft that does not decide. */
  readonly draft?: string;
  /** Why the draft could not decide. */
  readonly issues?: readonly string[];
}

// One writer at a time: two processes that start together must not make two versions of one bundle.
const lockBundles = statement("pdp.bundle.lock", "lock table pdp.bundle in share row exclusive mode");

/** Policies under which nobody could take them back are most often those of another profile, started where one decided before. */
const withAdvice = (issue: Finding, active: string | undefined): Finding =>
  issue.code === LOCKS_OUT
    ? {
        ...issue,
        hint: `${active} decides here; nothing was changed. Start another profile's policies with a data folder of their own (--data DIR). ${issue.hint ?? ""}`.trimEnd(),
      }
    : issue;

/** What a start would make of policy files. */
export interface Judged {
  readonly digest: string;
  /** Who decided before; undefined in a database that has no policies yet. */
  readonly before: Pointer | undefined;
  /** Undefined where the files are those of the last start: nothing is to be done. */
  readonly report: PolicyReport | undefined;
  readonly shouldDecide: boolean;
  readonly issues: readonly Finding[];
}

/** Looks at policy files as a start would; changes nothing. `database`: where an earlier start may have kept some. */
export const judgeFiles = async (database: Sql | undefined, files: PolicyFiles, autoActivate: boolean): Promise<Judged> => {
  const digest = digestOf(files);
  const before = database === undefined ? undefined : await readPointer(database);
  const shouldDecide = before === undefined || autoActivate;
  if (before?.imported === digest) return { digest, before, report: undefined, shouldDecide, issues: [] };
  const decides = before === undefined || database === undefined ? undefined : await readStoredBundle(database, before.active);
  const report = await makeReport(lookAt(files), decides === undefined ? undefined : sharedEngine(decides));
  return { digest, before, report, shouldDecide, issues: reportIssues(report).map((issue) => withAdvice(issue, before?.active)) };
};

/**
 * Takes the policy files of this start into the store if they changed since the last one. They decide at once where
 * `autoActivate` says so or none decided before; elsewhere they are a draft, which may be faulty. Files that should
 * decide but may not throw `BundleRefused`: the start fails loudly, and what decided before is left as it was.
 */
export const importBundle = async (
  parts: { readonly database: Database; readonly change: Change },
  files: PolicyFiles,
  autoActivate: boolean,
): Promise<Imported> => {
  const { digest, before, report, shouldDecide, issues } = await judgeFiles(parts.database, files, autoActivate);
  if (before !== undefined && report === undefined) return { active: before.active };
  if (report === undefined) throw new Error("files that are new here are looked at");
  if (shouldDecide && issues.length > 0) throw new BundleRefused(issues);
  return parts.change(async (sql) => {
    await sql.run(lockBundles);
    const by = instanceChanger(`import-${digest.slice(0, 12)}`);
    const stored =
      (await findDigest(sql, digest)) ?? (await storeDraft(sql, { digest, files, report, message: "Imported at start", by: "system" }));
    if (stored === undefined) throw new Error("the insert gives one row");
    const { version } = stored;
    const pointer = await lockPointer(sql);
    if (pointer === undefined) await placePointer(sql, version);
    else if (shouldDecide && pointer.active !== version)
      await movePointer(sql, pointer, { active: version, shadow: pointer.shadow === version ? null : pointer.shadow });
    await markImported(sql, digest);
    const isActive = pointer === undefined || shouldDecide || pointer.active === version;
    const entry = policyEntry(by, "imported", version, { digest, from: pointer?.active ?? null, active: isActive });
    const reported = isActive && pointer !== undefined ? await policyEvents(sql, by, "activated", version, { from: pointer.active }) : [];
    const result: Imported = isActive ? { active: version } : { active: pointer.active, draft: version, issues: issues.map(issueLine) };
    return { result, entries: [entry], events: reported };
  });
};
