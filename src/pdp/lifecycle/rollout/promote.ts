import type { PolicyReport } from "#contract/policies.ts";
import type { BodyOf } from "#contract/endpoint.ts";
import type { MatrixDifference, promoteRollout } from "#contract/rollouts.ts";
import { Problem } from "#contract/problem.ts";
import type { Version } from "#pdp/engine/engines.ts";
import type { Administrator } from "./guard-administration.ts";
import type { Change } from "#events/changes/change.ts";
import type { Follower } from "./follow-pointer.ts";
import { movePointer, type Pointer } from "./pointer.ts";
import { tellOf, type PolicyAct } from "./policy-events.ts";
import type { StoredVersion } from "./version-store.ts";
import type { VersionReader } from "./version-reader.ts";

type Promotion = BodyOf<typeof promoteRollout>;

/** A change of which versions decide. */
interface PointerTurn {
  readonly act: PolicyAct;
  /** Whom it is about. */
  readonly version: string;
  readonly from: Pointer;
  readonly to: Pick<Pointer, "active" | "shadow">;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Moves the pointer in one commit with what is told of it; this process follows before it resolves. Throws `stale_version`. */
export const createTurn =
  ({ change, follower }: { readonly change: Change; readonly follower: Follower }, reader: Pick<VersionReader, "requireVersion">) =>
  async (admin: Administrator, { act, version, from, to, data }: PointerTurn): Promise<StoredVersion> => {
    await change(async (sql) => {
      const epoch = await movePointer(sql, from, to);
      return { result: undefined, ...(await tellOf(sql, admin.by, act, version, { from: from.active, epoch: Number(epoch), ...data })) };
    });
    await follower.refresh();
    return reader.requireVersion(version);
  };

type TurnPointer = ReturnType<typeof createTurn>;

const conflict = (detail: string): Problem => new Problem("conflict", { detail });

/** Only a draft goes into the shadow, only what does not decide yet becomes active. */
const requireForward = ({ version, state }: StoredVersion, to: Promotion["to"]): void => {
  if (state === "active" || state === "retired") throw conflict(`${version} is ${state}${state === "retired" ? ": roll back to it" : ""}.`);
  if (state === "shadow" && to === "shadow") throw conflict(`${version} is in the shadow already.`);
};

const requirePassed = (report: PolicyReport): void => {
  if (report.cases.failed.length > 0) throw new Problem("cases_failed", { members: { report } });
};

/** Who activates has seen which cells change. */
const requireAcknowledged = (asked: Promotion, matrix: MatrixDifference, report: PolicyReport): void => {
  if (asked.acknowledged_diff === matrix.digest) return;
  throw new Problem("matrix_not_acknowledged", {
    detail: "Look at the cells that change and name the digest of the difference.",
    members: { report, matrix },
  });
};

const requireKeptRight = async (admin: Administrator, version: Version, report: PolicyReport): Promise<void> => {
  if (await admin.keepsRight(version)) return;
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
};

/**
 * Brings a version forward: into the shadow, or to where it decides; or out of the shadow again. Throws `conflict`, `policy_invalid`,
 * `cases_failed`, `matrix_not_acknowledged`, `stale_version`, `not_found`, `busy`.
 */
export const createPromote =
  (reader: VersionReader, turn: TurnPointer) =>
  async (admin: Administrator, version: string, asked: Promotion, ifMatch: string | null): Promise<StoredVersion> => {
    const from = await reader.requirePointer(ifMatch);
    const stored = await reader.requireVersion(version);
    const name = stored.version;
    if (asked.to === "draft") {
      if (from.shadow !== name) throw conflict(`${name} is not in the shadow.`);
      return turn(admin, { act: "unshadowed", version: name, from, to: { active: from.active, shadow: null } });
    }
    requireForward(stored, asked.to);
    const report = await reader.requireReady(name, "urgent");
    requirePassed(report);
    if (asked.to === "shadow") return turn(admin, { act: "shadowed", version: name, from, to: { active: from.active, shadow: name } });
    const matrix = await reader.matrix(name, from.active, "urgent");
    requireAcknowledged(asked, matrix, report);
    await requireKeptRight(admin, await reader.versionOf(name), report);
    const shadow = from.shadow === name ? null : from.shadow;
    const data = { digest: stored.digest, matrix_changes: matrix.changed.length, matrix_digest: matrix.digest };
    return turn(admin, { act: "activated", version: name, from, to: { active: name, shadow }, data });
  };
