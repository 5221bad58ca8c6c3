import type { ConfigDiff } from "#contract/configs.ts";
import { MOST_FAULTS, Problem, type Fault } from "#contract/problem.ts";
import { namesState, namesTag } from "#http/entity-tags.ts";
import type { ReadReference } from "#crud/systems/load-systems.ts";
import { allowNetwork } from "#crud/upstream/network-rules.ts";
import { referencesOfAll } from "./config-files.ts";
import { effectsOf, type TouchedTool } from "./effects.ts";
import type { Refused } from "./healthy-operations.ts";
import { keyOf, type KindName } from "./held-object.ts";
import { isOwn, isPrepared, type Prepared } from "./kinds.ts";
import { readFrom, sees, type ConfigStoreParts, type ServingObjects } from "./serving-objects.ts";
import type { ConfigOp, Writer } from "./tell.ts";
import { digestOf, etagOf, type StoredVersion } from "./version-store.ts";

/** A change that somebody asks for. */
export interface ConfigWrite {
  readonly kind: KindName;
  /** Undefined: of a new object what its document says. */
  readonly name: string | undefined;
  /** Null: it is taken away. */
  readonly text: string | null;
  /** Of an earlier version, which is put in force again. */
  readonly restored?: StoredVersion;
  /** Reads what came with it, which is all that it may refer to; absent: files of the version before and of the folders. */
  readonly read?: ReadReference;
  readonly by: Writer;
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
  readonly faults?: readonly Fault[];
}

/** A change that was looked at and may be made. */
export interface Planned {
  readonly asked: ConfigWrite;
  readonly written: Written;
  readonly op: ConfigOp;
  /** Undefined: it is taken away. */
  readonly good: Prepared | undefined;
}

/** What is wrong with a document for whoever publishes it. Of a faulty one the graph is asked besides, and says nothing while it is away. */
const faultsOf = async (prepared: Prepared | Refused, by: Parameters<Prepared["check"]>[0]): Promise<readonly Fault[]> => {
  if (isPrepared(prepared)) return prepared.check(by);
  try {
    return [...prepared.faults, ...((await prepared.check?.(by)) ?? [])];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return prepared.faults;
  }
};
export const refuse = (faults: readonly Fault[]): Problem => {
  const code = faults.some((fault) => fault.code === "connector_not_available")
    ? "connector_not_available"
    : faults.every((fault) => fault.code === "stale_version")
      ? "stale_version"
      : "unprocessable";
  return new Problem(code, { errors: faults });
};

/** The faults of a refusal, each with the file that it is of. */
export const faultsIn = ({ code, title, options: { detail, errors } }: Problem, file: string): readonly Fault[] =>
  errors === undefined ? [{ path: "", message: detail ?? title, code, file }] : errors.map((fault) => ({ file, ...fault }));

/** Looks at changes before they are made: what they would do, and what forbids them. */
export const createPlanner = (parts: ConfigStoreParts, objects: ServingObjects) => {
  const { kinds, catalogue } = parts;
  const { held, require: requireObject } = objects;
  const fromFolders = referencesOfAll(parts.folders);

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

  /** What a change would do. Throws as `write`; what it read is let go then. */
  const plan = async (asked: ConfigWrite, others: readonly string[]): Promise<Planned> => {
    const { kind, text, by, restored, isDryRun } = asked;
    const wall = { tenant: by.tenant, others };
    const known = asked.name === undefined ? undefined : held.get(keyOf(kind, asked.name));
    const refs = restored?.refs ?? known?.head?.refs ?? {};
    const read: ReadReference =
      asked.read ?? (async (path) => (await readFrom(refs)(path)) ?? (restored === undefined ? fromFolders(path) : undefined));
    const prepared = text === null ? undefined : await kinds[kind].prepare({ name: asked.name, text, read });
    const good = prepared !== undefined && isPrepared(prepared) ? prepared : undefined;
    const name = asked.name ?? good?.name ?? "";
    const before = held.get(keyOf(kind, name));
    const live = before?.head?.text === null ? undefined : before?.head;
    const digest = digestOf(text, good?.refs ?? {});
    const isSame = live !== undefined && text !== null && live.digest === digest;
    const faults = prepared === undefined || isSame ? [] : await faultsOf(prepared, { ...wall, correlationId: by.correlationId });
    // Of another tenant's object nothing is said: not even that the name is taken, where a change is asked for.
    if (asked.name !== undefined && text === null) requireObject(kind, name, by.tenant);
    try {
      if (asked.name === undefined && live !== undefined)
        throw new Problem(
          "already_exists",
          sees(live.tenants, by.tenant) ? { detail: `${name}: its next version is PUT /config/systems/${name}.` } : {},
        );
      if (live !== undefined && !sees(live.tenants, by.tenant)) throw new Problem("not_found");
      if (live !== undefined && kind !== "tools" && !isSame && !isOwn(live.tenants, wall))
        throw new Problem("cross_tenant", {
          detail: "It serves other tenants of this house too: its file in the configuration folder changes it.",
        });
      if (text === null && live === undefined) throw new Problem("not_found");
      requireTags(asked, before?.head, isSame);
      if (faults.length > 0 && !isDryRun) throw refuse(faults);
      const after = good ?? (text === null ? kinds[kind].absent(name) : undefined);
      const next = (after?.preview ?? (() => catalogue.snapshot))();
      const { diff, touched } = await effectsOf(catalogue.snapshot, next, by.tenant, { before: before?.prepared, after: good });
      const cut = next.dropped.filter(({ reason }) => reason === "max_tools").length;
      const warnings = [
        ...(good?.isOff === true ? ["One of its settings has no value here: it serves nothing until it has one."] : []),
        ...(good?.unlisted ?? []).map((network) => `${network} is not public: calls are refused. ${allowNetwork(name, network)}`),
        ...(cut > 0 ? [`MCP_MAX_TOOLS leaves ${cut} tools out, the last by name of all of this house: they cannot be called.`] : []),
        ...(kind === "tools" ? [...next.views.values()] : []).flatMap((view) =>
          view.cut > 0 && sees(view.tenants.length > 0 ? view.tenants : null, by.tenant)
            ? [`The view ${view.name} leaves out ${view.cut} tools, the last by name.`]
            : [],
        ),
      ];
      const planned = isSame && live !== undefined ? live : { version: (before?.head?.version ?? 0) + 1, digest };
      const op: ConfigOp = text === null ? "deleted" : restored !== undefined ? "rolled_back" : live === undefined ? "created" : "updated";
      const told = {
        diff,
        touched,
        warnings,
        secrets: good?.secrets ?? [],
        isSame,
        isNew: op === "created" && !isDryRun,
        ...(isDryRun ? { faults: faults.slice(0, MOST_FAULTS) } : {}),
      };
      return {
        asked,
        op,
        good,
        written: { name: name || (prepared?.name ?? ""), version: planned.version, etag: etagOf(planned), ...told },
      };
    } catch (error) {
      good?.discard();
      throw error;
    }
  };

  return { plan, requireTags };
};
export type Planner = ReturnType<typeof createPlanner>;
