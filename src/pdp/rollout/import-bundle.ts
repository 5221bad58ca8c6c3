import { faultLine } from "#contract/start-faults.ts";
import type { Change } from "#events/change.ts";
import { digestOf } from "#pdp/bundle/bundle.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import type { Finding } from "#pdp/bundle/findings.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { createEngine } from "#pdp/engine.ts";
import { statement, type Database } from "#store/database.ts";
import { LOCKS_OUT } from "./lockout.ts";
import { markImported, movePointer, placePointer, readPointer, lockPointer } from "./pointer.ts";
import { faultsOf, makeReport } from "./report.ts";
import { entryOf, eventsOf, theHouse } from "./tell.ts";
import { findDigest, readStoredBundle, storeDraft } from "./version-store.ts";

export interface Imported {
  readonly active: string;
  /** The files of this start became a draft that does not decide. */
  readonly draft?: string;
  /** Why the draft could not decide. */
  readonly faults?: readonly string[];
}

// One writer at a time: two processes that start together must not make two versions of one bundle.
const lockBundles = statement("pdp.bundle.lock", "lock table pdp.bundle in share row exclusive mode");

/** Policies under which nobody could take them back are most often those of another profile, started where one decided before. */
const withAdvice = (fault: Finding, active: string | undefined): Finding =>
  fault.code === LOCKS_OUT
    ? {
        ...fault,
        hint: `${active} decides here; nothing was changed. Start another profile's policies with a data folder of their own (--data DIR). ${fault.hint ?? ""}`.trimEnd(),
      }
    : fault;

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
  const { database } = parts;
  const digest = digestOf(files);
  const before = await readPointer(database);
  if (before?.imported === digest) return { active: before.active };
  const decides = before === undefined ? undefined : await readStoredBundle(database, before.active);
  const { report } = await makeReport(files, decides === undefined ? undefined : createEngine(decides));
  const faults = faultsOf(report);
  const shouldDecide = before === undefined || autoActivate;
  if (shouldDecide && faults.length > 0) throw new BundleRefused(faults.map((fault) => withAdvice(fault, before?.active)));
  return parts.change(async (sql) => {
    await sql.run(lockBundles);
    const by = theHouse(`import-${digest.slice(0, 12)}`);
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
    const entry = entryOf(by, "imported", version, { digest, from: pointer?.active ?? null, active: isActive });
    const told = isActive && pointer !== undefined ? await eventsOf(sql, by, "activated", version, { from: pointer.active }) : [];
    const result: Imported = isActive
      ? { active: version }
      : {
          active: pointer.active,
          draft: version,
          faults: faults.map(faultLine),
        };
    return { result, entries: [entry], events: told };
  });
};
