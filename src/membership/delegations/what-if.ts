import { createHash } from "node:crypto";
import { canonicalJson } from "#contract/canonical-json.ts";
import { mergeMasks, type ColumnMask } from "#contract/data-scope.ts";
import type { WhatIf } from "#contract/delegations.ts";
import type { Sql } from "#store/database.ts";
import { readDataScope, type DataScopeOptions } from "#membership/graph/sql-data-scope.ts";
import { readReach, type Reach, type RowMask } from "#membership/graph/sql-pip.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";

/** Masks, by `<type>/<action>`, that calls through the agent would not have. */
export type Lifts = ReadonlySet<string>;

export const noLifts: Lifts = new Set();

export const liftOf = ({ resourceType, unless_allowed: action }: RowMask): string | undefined =>
  action === undefined ? undefined : `${resourceType}/${action}`;

export interface Pair {
  readonly userId: string;
  readonly agentId: string;
}

type Warning = WhatIf["warnings"][number];

const minus = (one: readonly string[], other: readonly string[]): string[] => one.filter((item) => !other.includes(item));

type Audience = WhatIf["audiences"]["added"][number];
/** Audiences with the scopes that `one` has beyond `other`. */
const audiencesBeyond = (one: Reach, other: Reach): Audience[] =>
  one.audiences.flatMap(({ audience, scopes }) => {
    const held = other.audiences.find((item) => item.audience === audience)?.scopes;
    const beyond = held === undefined ? [...scopes] : minus(scopes, held);
    return held === undefined || beyond.length > 0 ? [{ audience, scopes: beyond }] : [];
  });

/**
 * What a change of delegations gives or takes between a user and an agent: the enforcing code is asked before and after
 * `change`, inside the transaction that made it. The digest names the draft and the whole effect, not the graph's version.
 */
export const compareReach = async (
  sql: Sql,
  scope: TenantScope,
  pair: Pair,
  parts: {
    readonly draft: unknown;
    readonly change: () => Promise<void>;
    readonly dataScope: DataScopeOptions;
    readonly lifts: Lifts;
    readonly warn: (before: Reach, after: Reach) => readonly Warning[];
  },
): Promise<WhatIf> => {
  const before = await readReach(sql, scope, pair);
  await parts.change();
  const after = await readReach(sql, scope, pair);
  const scopes = await Promise.all(
    ["", ...after.resourceTypes].map(async (resourceType) => ({
      resourceType,
      value: (await readDataScope(sql, scope, { subjectId: pair.userId, resourceType }, parts.dataScope)).value,
    })),
  );
  const masks = scopes.map(({ resourceType, value }): ColumnMask =>
    Object.fromEntries(Object.entries(value.column_mask).map(([column, kind]) => [`${resourceType}.${column}`, kind])),
  );
  // What the tools hide themselves, from people and agents whom the decision point does not let see it.
  const hidden = after.masks.flatMap((mask): ColumnMask[] => {
    const lift = liftOf(mask);
    return lift !== undefined && parts.lifts.has(lift) ? [] : [{ [`${mask.resourceType}.${mask.column}`]: mask.kind }];
  });
  const kept = after.tools.filter((tool) => before.tools.includes(tool));
  const effect = {
    tools: { added: minus(after.tools, before.tools), kept, removed: minus(before.tools, after.tools) },
    audiences: { added: audiencesBeyond(after, before), removed: audiencesBeyond(before, after) },
    tenant_ids: after.tools.length === 0 ? [] : [...(scopes[0]?.value.tenant_ids ?? [])],
    columns_masked: [...masks, ...hidden].reduce<Record<string, string>>((held, mask) => mergeMasks(held, mask), {}),
    step_up_tools: [...after.stepUpTools],
    warnings: [...parts.warn(before, after)],
  };
  const text = canonicalJson([parts.draft, effect]) ?? "";
  return { what_if_digest: createHash("sha256").update(text).digest("base64url"), graph_version: Number(after.version), ...effect };
};
