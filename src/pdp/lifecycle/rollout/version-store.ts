import { z } from "zod";
import { policyReport, type PolicyReport } from "#contract/policies.ts";
import type { Rollout, RolloutState } from "#contract/rollouts.ts";
import { inspectBundle, type Bundle } from "#pdp/bundle/bundle.ts";
import { BundleRefused } from "#pdp/bundle/bundle-refused.ts";
import type { PolicyFiles } from "#pdp/bundle/policy-files.ts";
import { statement, type Sql } from "#store/database.ts";

/** A version as it is kept. Its files never change; its state does. */
export interface StoredVersion extends Readonly<Omit<Rollout, "activated_at">> {
  readonly seq: bigint;
  readonly activated_at: string | null;
}

const COLUMNS = "version, seq, state, digest, message, created_by, created_at, activated_at";
const insertDraft = statement<StoredVersion>(
  "pdp.bundle.insert",
  `insert into pdp.bundle (version, seq, digest, state, files, report, message, created_by)
   select 'v' || n || '+' || left($1, 12), n, $1, 'draft', $2::jsonb, $3::jsonb, $4, $5 from (select nextval('pdp.bundle_seq') as n) s
   on conflict (digest) do nothing returning ${COLUMNS}`,
);
const byDigest = statement<StoredVersion>("pdp.bundle.digest", `select ${COLUMNS} from pdp.bundle where digest = $1`);
const byVersion = statement<StoredVersion>("pdp.bundle.version", `select ${COLUMNS} from pdp.bundle where version = $1`);
const bySeq = statement<StoredVersion>("pdp.bundle.seq", `select ${COLUMNS} from pdp.bundle where seq = $1`);
const lastRetired = statement<StoredVersion>(
  "pdp.bundle.last_retired",
  `select ${COLUMNS} from pdp.bundle where state = 'retired' order by activated_at desc nulls last, seq desc limit 1`,
);
const newestDraft = statement<StoredVersion>(
  "pdp.bundle.newest_draft",
  `select ${COLUMNS} from pdp.bundle where state = 'draft' order by seq desc limit 1`,
);
const list = statement<StoredVersion>(
  "pdp.bundle.list",
  `select ${COLUMNS} from pdp.bundle where ($1::text is null or state = $1) and ($2::bigint is null or seq < $2) order by seq desc limit $3`,
);
const readFiles = statement<{ readonly files: unknown; readonly report: unknown }>(
  "pdp.bundle.files",
  "select files, report from pdp.bundle where version = $1",
);
const dropDraft = statement<{ readonly version: string }>(
  "pdp.bundle.drop",
  "delete from pdp.bundle where version = $1 and state = 'draft' returning version",
);

const storedFiles = z.record(z.string(), z.string());
const noReport: PolicyReport = { valid: true, errors: [], warnings: [], lint: [], cases: { passed: 0, failed: [] } };

/** `undefined`: these very files are stored already. */
export const storeDraft = async (
  sql: Sql,
  draft: {
    readonly digest: string;
    readonly files: PolicyFiles;
    readonly report: PolicyReport;
    readonly message: string;
    readonly by: string;
  },
): Promise<StoredVersion | undefined> => {
  // A number is taken even for a row that is not written: look first.
  if ((await findDigest(sql, draft.digest)) !== undefined) return undefined;
  const values = [draft.digest, JSON.stringify(draft.files), JSON.stringify(draft.report), draft.message, draft.by];
  return (await sql.run(insertDraft, values))[0];
};

export const findDigest = async (sql: Sql, digest: string): Promise<StoredVersion | undefined> => (await sql.run(byDigest, [digest]))[0];

/** By its whole name, or by `v<number>`. */
export const findVersion = async (sql: Sql, version: string): Promise<StoredVersion | undefined> =>
  (version.includes("+") ? await sql.run(byVersion, [version]) : await sql.run(bySeq, [BigInt(version.slice(1))]))[0];

/** The version that decided last before the present one. */
export const findLastRetired = async (sql: Sql): Promise<StoredVersion | undefined> => (await sql.run(lastRetired))[0];
export const findNewestDraft = async (sql: Sql): Promise<StoredVersion | undefined> => (await sql.run(newestDraft))[0];

export const listVersions = (
  sql: Sql,
  ask: { readonly state: RolloutState | undefined; readonly before: bigint | undefined; readonly limit: number },
): Promise<readonly StoredVersion[]> => sql.run(list, [ask.state ?? null, ask.before ?? null, ask.limit]);

export interface StoredContent {
  readonly files: PolicyFiles;
  readonly report: PolicyReport;
}

export const readContent = async (sql: Sql, version: string): Promise<StoredContent | undefined> => {
  const [row] = await sql.run(readFiles, [version]);
  return row === undefined ? undefined : { files: storedFiles.parse(row.files), report: policyReport.parse(row.report ?? noReport) };
};

/** False: it is no draft. */
export const dropVersion = async (sql: Sql, version: string): Promise<boolean> => (await sql.run(dropDraft, [version])).length > 0;

/**
 * A bundle as it decides or decided. What lint refuses only since then does not keep it from being read; what cannot be
 * understood whole does: throws `BundleRefused`. `undefined`: not stored.
 */
export const readStoredBundle = async (sql: Sql, version: string): Promise<Bundle | undefined> => {
  const content = await readContent(sql, version);
  if (content === undefined) return undefined;
  const { bundle, findings } = inspectBundle(content.files);
  if (bundle === undefined) throw new BundleRefused([...findings.errors, ...findings.lint]);
  return bundle;
};

export const shownVersion = ({ seq: _seq, activated_at, ...stored }: StoredVersion): Rollout => ({
  ...stored,
  activated_at: activated_at ?? undefined,
});
