import type { Expr } from "@cedar-policy/cedar-wasm/nodejs";
import { isObject } from "#contract/is-object.ts";
import { Problem } from "#contract/problem.ts";
import { isService } from "#authn/model/actor-kind.ts";
import type { Caller } from "#authn/model/caller.ts";
import { pairs } from "#pdp-client/pairs.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import { createAskRights, type AskRightsParts } from "./ask-rights.ts";

/** A thing that a policy names, as facts are asked of it. */
interface Named {
  readonly action: string;
  readonly type: string;
  readonly id: string;
  /** A plain text may be anything: only as the name of what another tenant has does it hide the policy. */
  readonly isText: boolean;
}

/** Who comes without a token is nobody's, and stands in no graph. */
const NOBODY = "service:anonymous";
/** Kinds of nodes that are looked up by their own id. */
const byId = { type: "identities", action: "view" } as const;
const lookups: ReadonlyMap<string, { readonly type: string; readonly action: string }> = new Map(
  pairs.filter(({ of, entity }) => of !== "all" && entity !== "DelegateAgent").map((pair) => [pair.entity, pair]),
);

const textsIn = (node: unknown): readonly string[] => {
  if (Array.isArray(node)) return node.flatMap(textsIn);
  if (!isObject(node)) return [];
  const value = node["Value"];
  return [...(typeof value === "string" ? [value] : []), ...Object.values(node).flatMap(textsIn)];
};

const namedBy = ({ reads, json }: Policy): readonly Named[] => [
  ...[...reads.groups].map((id) => ({ ...byId, id, isText: false })),
  ...[...reads.entities].map((entity) => {
    const [kind = "", id = ""] = entity.split(/::(.*)/s);
    const { type, action } = lookups.get(kind) ?? byId;
    return { type, action, id, isText: false };
  }),
  ...json.conditions.flatMap(({ body }: { readonly body: Expr }) => textsIn(body)).map((id) => ({ ...byId, id, isText: true })),
];

/** What a caller sees of policies. */
export interface PolicySight {
  /** Every policy, and versions as a whole. */
  readonly isWhole: boolean;
  /** Those that name nothing but what is shared or the caller's tenant's. What nobody knows is not shown. Cost: one question for facts. */
  shown<P extends Policy>(policies: readonly P[]): Promise<readonly P[]>;
}

/** What is said of a version that cannot be asked, to who does not see it whole: nothing of what it holds. */
export const quietly = async <T>({ isWhole }: PolicySight, asked: Promise<T>): Promise<T> =>
  asked.catch((error: unknown) => {
    throw !isWhole && error instanceof Problem && error.code === "policy_invalid" ? new Problem(error.code) : error;
  });

/** Who runs the deployment, and a service with the scope, see policies whole; anybody else as far as they speak of the own tenant. */
export const createPolicySight = (parts: AskRightsParts & { readonly facts: Pick<FactSource, "gather"> }) => {
  const askRights = createAskRights(parts);
  return async (caller: Caller): Promise<PolicySight> => {
    const isWhole = isService(caller) || (await askRights(caller, [{ type: "policies", action: "view_all" }]))[0] === "granted";
    if (isWhole) return { isWhole, shown: async (policies) => policies };
    return {
      isWhole,
      shown: async (policies) => {
        const named = new Map(policies.flatMap(namedBy).map((one) => [JSON.stringify(one), one]));
        const looked = [...named.entries()].filter(([, { id }]) => id !== "" && id !== NOBODY && id.length <= 1024);
        const { facts } = await parts.facts.gather(
          looked.map(([, { action, type, id }]) => ({ subject_id: parts.self, action, resource: { type, external_id: id } })),
        );
        const hidden = new Set(
          looked.flatMap(([key, { isText }], index) => {
            const tenants = facts[index]?.resource?.tenant_ids;
            const isOthers = tenants === undefined ? !isText : tenants.length > 0 && !tenants.includes(caller.tenant);
            return isOthers ? [key] : [];
          }),
        );
        return policies.filter((policy) => namedBy(policy).every((one) => !hidden.has(JSON.stringify(one))));
      },
    };
  };
};
