import type { ConfigDiff, ConfigObjectKind } from "#contract/configs.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { MAX_ISSUES, Problem, type Issue, type ProblemCode } from "#contract/problem.ts";
import { namesState, namesTag } from "#http/entity-tags.ts";
import type { ReadReference } from "#crud/systems/load-systems.ts";
import { printJson } from "#parsing/yaml-document.ts";
import { cutOf } from "#crud/tools/catalogue.ts";
import { allowNetwork } from "#crud/upstream/network-rules.ts";
import { referencesOfAll } from "./config-files.ts";
import { effectsOf, type TouchedTool } from "./effects.ts";
import { addressOf, isOwn, isPrepared, keyOf, type Document, type Prepared, type Refused } from "./config-kind.ts";
import { readFrom, sees, type ConfigStoreParts, type ServingObjects } from "./serving-objects.ts";
import type { ConfigOp, Publisher, Writer } from "#crud/versions/config-events.ts";
import type { IsComing, PublishScope, TenantsOfSystem } from "./publish-scope.ts";
import { digestOf, etagOf, type StoredVersion } from "#crud/versions/version-store.ts";

/** A change that somebody asks for. */
export interface ConfigWrite {
  readonly kind: ConfigObjectKind;
  /** Undefined: of a new object what its document says. */
  readonly name: string | undefined;
  /** Null: it is taken away. */
  readonly text: string | null;
  /** Of an earlier version, which is put in force again. */
  readonly restored?: StoredVersion;
  /** Reads what came with it, which is all that it may refer to; absent: files of the version before and of the folders. */
  readonly read?: ReadReference;
  readonly by: Publisher;
  /** Why the writer may not change what serves other tenants too; `undefined`: it may. Asked only of such a change. */
  readonly reachRefusal: () => Promise<Problem | undefined>;
  readonly reason: string | undefined;
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
  readonly isDryRun: boolean;
}

export interface Written {
  readonly name: string;
  readonly version: number;
  readonly etag: string;
  readonly diff: ConfigDiff;
  /** Tools that change or go, as they were and would be. */
  readonly touched: readonly TouchedTool[];
  readonly warnings: readonly string[];
  /** That the document names; none of one that is faulty. */
  readonly secrets: readonly string[];
  readonly isNew: boolean;
  /** It was so already: nothing was written. */
  readonly isSame: boolean;
  /** Of a dry run alone. */
  readonly issues?: readonly Issue[];
}

/** A change that was looked at and may be made. */
export interface Planned {
  readonly asked: ConfigWrite;
  /** What was in force as it was looked at. */
  readonly live: StoredVersion | undefined;
  readonly written: Written;
  readonly op: ConfigOp;
  /** Undefined: it is taken away. */
  readonly good: Prepared | undefined;
  /** What it was looked at beside, as its writer saw it. */
  readonly base: StoredVersion | undefined;
  /** Entity tag of what its writer sees then; undefined: all of it. */
  readonly tag: string | undefined;
}

/** What is published of a document, and what was read of it. */
interface Whole {
  readonly text: string;
  readonly prepared: Prepared | Refused;
}

/** What is wrong with a document for whoever publishes it. Of a faulty one the graph is asked besides, and says nothing while it is away. */
const issuesOf = async (prepared: Prepared | Refused, by: Parameters<Prepared["check"]>[0]): Promise<readonly Issue[]> => {
  if (isPrepared(prepared)) return prepared.check(by);
  try {
    return [...prepared.issues, ...((await prepared.check?.(by)) ?? [])];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return prepared.issues;
  }
};
/** Codes of issues that are the code of the whole refusal: by any such issue, or where there are no others. */
const anySuch = ["connector_not_available"] as const;
const allSuch = ["stale_version", "version_exists", "version_not_higher"] as const;
export const refuse = (issues: readonly Issue[], otherwise: ProblemCode = "unprocessable"): Problem => {
  const code =
    anySuch.find((one) => issues.some((issue) => issue.code === one)) ??
    allSuch.find((one) => issues.every((issue) => issue.code === one)) ??
    otherwise;
  return new Problem(code, { errors: issues });
};

/** An issue that stands only against who may not change what reaches beyond its own tenant. */
const isWall = ({ code }: Issue): boolean => code === "cross_tenant";

/**
 * The issues that stand against the change. Throws the wall where what is in force is not the writer's alone and the writer may not change
 * that; `step_up_required` where a strong sign-in is all that lacks. A try needs none: it shows what the change would do.
 */
const withinReach = async (asked: ConfigWrite, issues: readonly Issue[], wall: Problem | undefined): Promise<readonly Issue[]> => {
  if (wall === undefined && !issues.some(isWall)) return issues;
  const refusal = await asked.reachRefusal();
  const others = issues.filter((issue) => !isWall(issue));
  if (refusal === undefined || (!isRefused(refusal) && (asked.isDryRun || others.length > 0))) return others;
  if (!isRefused(refusal)) throw refusal;
  if (wall !== undefined) throw wall;
  return issues;
};
const isRefused = (refusal: Problem | undefined): boolean => refusal !== undefined && refusal.code !== "step_up_required";
const servesOthers = (): Problem =>
  new Problem("cross_tenant", {
    detail: "It serves other tenants too: who runs the deployment (role:platform) changes it, or its file in the configuration folder.",
  });

/** The issues of a refusal, each with the file that it is of. */
export const issuesIn = ({ code, title, options: { detail, errors } }: Problem, file: string): readonly Issue[] =>
  errors === undefined ? [{ path: "", message: detail ?? title, code, file }] : errors.map((issue) => ({ file, ...issue }));

/** Looks at changes before they are made: what they would do, and what forbids them. */
export const createPlanner = (parts: ConfigStoreParts, objects: ServingObjects) => {
  const { kinds, catalogue } = parts;
  const { held, shareOf, tenantsOfSystem, require: requireObject } = objects;

  const requireTags = ({ ifMatch, ifNoneMatch, isDryRun, read }: ConfigWrite, head: StoredVersion | undefined, isSame = false): void => {
    const live = head === undefined || head.text === null ? undefined : etagOf(head);
    if (namesState(ifNoneMatch, live)) throw new Problem("already_exists");
    const stale = (detail?: string): Problem =>
      new Problem("stale_version", {
        ...(detail === undefined ? {} : { detail }),
        ...(live === undefined ? {} : { headers: { etag: live }, members: { current: live, yours: ifMatch } }),
      });
    if (ifMatch !== null && !namesTag(ifMatch, live)) throw stale();
    // What an archive has as it is here overwrites nothing; of the rest a try is refused as the act is, which has one tag for all.
    const needsTag = read === undefined ? !isDryRun : !isSame;
    if (ifMatch === null && parts.requiresIfMatch && live !== undefined && needsTag)
      throw stale(`Send If-Match with the ETag ${read === undefined ? "that you read" : "of the export that it was made of"}.`);
  };

  /** A document, in place of the part of it that its writer sees; its issues stand where the writer wrote them. */
  const prepareWhole = async (kind: ConfigObjectKind, document: Document, { tenant }: Writer): Promise<Whole> => {
    const { text } = document;
    const mine = await kinds[kind].prepare(document);
    const { head, prepared, serving } = held.get(keyOf(kind, document.name ?? "")) ?? {};
    const share = shareOf(kind);
    if (share === undefined || !isPrepared(mine) || head === undefined || head.text === null) return { text, prepared: mine };
    const { value } = prepared?.yaml ?? {};
    const issues = share.conflicts(value, mine.yaml, tenant);
    if (issues.length > 0) return { text, prepared: { name: mine.name, issues } };
    const whole = { value, text: serving === head.version ? head.text : printJson(value) };
    const joined = share.join(whole, { text, value: mine.yaml.value }, tenant);
    if (joined === text) return { text, prepared: mine };
    const found = await kinds[kind].prepare({ ...document, text: joined });
    if (!isPrepared(found)) return { text, prepared: found };
    const place = (issue: Issue): Issue => ({ ...issue, ...mine.yaml.placeOf(parsePointer(issue.path)) });
    return { text: joined, prepared: { ...found, check: async (wall) => (await found.check(wall)).map(place) } };
  };

  /** A file of the folders is for who sees an object that refers to it, and for who runs the deployment: it may be another tenant's. */
  const ofFolders =
    ({ kind, by, reachRefusal }: ConfigWrite, others: readonly string[]): ReadReference =>
    async (path) => {
      const isSeen = objects.list(kind, by.tenant).some(({ head }) => Object.hasOwn(head?.refs ?? {}, path));
      return others.length > 0 && !isSeen && isRefused(await reachRefusal()) ? undefined : referencesOfAll(parts.folders, kind)(path);
    };

  /** What a change would do. Throws as `write`; what it read is let go then. `isComing`: the same act publishes it. */
  const plan = async (given: ConfigWrite, others: readonly string[], isComing: IsComing = () => false): Promise<Planned> => {
    const { kind, by, restored, isDryRun } = given;
    const tenantsOf: TenantsOfSystem = (name) => {
      const tenants = tenantsOfSystem(name);
      return tenants === undefined && isComing("system", name) ? [by.tenant] : tenants;
    };
    const { tenant, correlationId } = by;
    const scope: PublishScope = { tenant, others, tenantsOfSystem: tenantsOf, correlationId, isComing, isRollback: restored !== undefined };
    const known = given.name === undefined ? undefined : held.get(keyOf(kind, given.name));
    const refs = restored?.refs ?? known?.head?.refs ?? {};
    const read: ReadReference =
      given.read ?? (async (path) => (await readFrom(refs)(path)) ?? (restored === undefined ? ofFolders(given, others)(path) : undefined));
    const whole =
      given.text === null ? undefined : await prepareWhole(kind, { name: given.name, text: given.text, read, tenant: by.tenant }, by);
    const { text = null, prepared } = whole ?? {};
    const asked = { ...given, text };
    const good = prepared !== undefined && isPrepared(prepared) ? prepared : undefined;
    const name = asked.name ?? good?.name ?? "";
    const before = held.get(keyOf(kind, name));
    const live = before?.head?.text === null ? undefined : before?.head;
    const base = before === undefined ? undefined : objects.shownTo(before, by.tenant).head;
    const digest = digestOf(text, good?.refs ?? {});
    const isSame = live !== undefined && text !== null && live.digest === digest;
    const found = prepared === undefined || isSame ? [] : await issuesOf(prepared, scope);
    // Of another tenant's object nothing is said: not even that the name is taken, where a change is asked for.
    if (asked.name !== undefined && text === null) requireObject(kind, name, by.tenant);
    try {
      if (asked.name === undefined && live !== undefined)
        throw new Problem(
          "already_exists",
          sees(live.tenants, by.tenant) ? { detail: `${name}: its next version is PUT ${addressOf(kind, name)}.` } : {},
        );
      // A file that never loaded serves what of it can, or is somebody's to mend: nobody knows whose it is but by what it names.
      const there = live !== undefined || (before?.issues.length ?? 0) > 0 ? before : undefined;
      const tenants = there === undefined ? undefined : (objects.tenantsOf(there) ?? null);
      if (tenants !== undefined && !sees(tenants, by.tenant)) {
        // Names are one for all tenants: who would make a new one learns that it is taken, and not by whom.
        if (live === undefined || asked.ifMatch !== null) throw new Problem("not_found");
        throw new Problem("already_exists", { detail: "The name is taken: choose another name." });
      }
      const share = shareOf(kind);
      const isForOthers = share !== undefined ? there?.prepared === undefined : tenants !== undefined && !isOwn(tenants, by.tenant);
      const isShared = there !== undefined && !isSame && isForOthers;
      const wall = isShared ? (objects.unclaimed().includes(there) ? new Problem("not_found") : servesOthers()) : undefined;
      const inReach = await withinReach(asked, found, wall);
      // What could not be prepared is never written, whatever its writer may.
      const issues = good === undefined && inReach.length === 0 ? found : inReach;
      if (text === null && live === undefined) throw new Problem("not_found");
      requireTags(asked, base, isSame);
      if (issues.length > 0 && !isDryRun) throw refuse(issues, kinds[kind].refusal);
      const after = good ?? (text === null ? kinds[kind].absent(name) : undefined);
      const next = (after?.preview ?? (() => catalogue.snapshot))();
      const { diff, touched } = await effectsOf(catalogue.snapshot, next, by.tenant, { before: before?.prepared, after: good });
      const cut = cutOf(next, by.tenant);
      const warnings = [
        ...(good?.isOff === true ? ["One of its settings has no value here: it serves nothing until it has one."] : []),
        ...(good?.unlisted ?? []).map((network) => `${network} is not public: calls are refused. ${allowNetwork(name, network)}`),
        ...(cut > 0 ? [`MCP_MAX_TOOLS leaves ${cut} tools out, the last by name: they cannot be called.`] : []),
        ...(good?.warnings?.(next, by.tenant) ?? []),
      ];
      const planned = isSame && live !== undefined ? live : { version: (before?.head?.version ?? 0) + 1, digest };
      const tag = good === undefined ? undefined : share?.partFor(good.yaml.value, by.tenant)?.tag;
      const op: ConfigOp = text === null ? "deleted" : restored !== undefined ? "rolled_back" : live === undefined ? "created" : "updated";
      const reported = {
        diff,
        touched,
        warnings,
        secrets: good?.secrets ?? [],
        isSame,
        isNew: op === "created" && !isDryRun,
        ...(isDryRun ? { issues: issues.slice(0, MAX_ISSUES) } : {}),
      };
      return {
        asked,
        live,
        op,
        good,
        base,
        tag,
        written: { name: name || (prepared?.name ?? ""), version: planned.version, etag: tag ?? etagOf(planned), ...reported },
      };
    } catch (error) {
      good?.discard();
      throw error;
    }
  };

  return { plan, requireTags };
};
export type Planner = ReturnType<typeof createPlanner>;
