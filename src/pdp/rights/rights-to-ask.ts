import type { whatIf } from "#contract/what-if.ts";
import type { BodyOf } from "#contract/endpoint.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { createAskRights, Right } from "#pdp/rights/ask-rights.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";

type Body = BodyOf<typeof whatIf>;
type Edge = NonNullable<Body["changes"]["edges"]>["remove"][number];

export interface RightsParts {
  readonly askRights: ReturnType<typeof createAskRights>;
  readonly facts: Pick<FactSource, "gather">;
}

const editsGraph: Right = { type: "graph", action: "edit" };
const viewAll: Right = { type: "decisions", action: "view_all" };

/**
 * What is still to be required of a caller who may not see all decisions: nothing where it could make this very change to its own
 * rights, so that asking tells it nothing that doing would not; the rights that a fresh strong sign-in would give it for that; else
 * the right to see all. Every part must be the caller's to make: an edge by who may edit the graph; a delegation of its own by who
 * may give or end that one; a stronger sign-in by anybody. An approval is another's to give, and other policies are not the caller's
 * own rights. No change at all is none that could be made.
 */
export const rightsToAsk = async (caller: Caller, body: Body, parts: RightsParts): Promise<readonly Right[]> => {
  const { edges, facts } = body.changes;
  const [add, remove] = [edges?.add ?? [], edges?.remove ?? []];
  if (body.subject_id !== caller.sub || caller.actors.length > 0 || body.version !== undefined || facts?.approved !== undefined)
    return [viewAll];
  if (add.length + remove.length === 0) return facts?.mfa === undefined ? [viewAll] : [];

  const isOwn = (edge: Edge): boolean => edge.kind === "DELEGATES_TO" && edge.from === caller.sub;
  const ended = remove.filter(isOwn);
  const standing =
    ended.length === 0
      ? []
      : (
          await parts.facts.gather(
            ended.map(({ to }) => ({
              subject_id: caller.sub,
              agent_ids: [to],
              action: "view_all",
              resource: { type: "pages", external_id: "*" },
              tenant_id: caller.tenant,
            })),
          )
        ).facts;
  const ownRights: readonly (Right | undefined)[] = [
    ...add.map((edge) => (isOwn(edge) ? { type: "delegations", action: "create", id: edge.to } : undefined)),
    ...remove.map((edge): Right | undefined => {
      const id = standing[ended.indexOf(edge)]?.delegation?.id;
      return id === undefined ? undefined : { type: "delegations", action: "revoke", id };
    }),
  ];
  const own = ownRights.map((right) => right ?? editsGraph);
  const [edits = "denied", ...standings] = await parts.askRights(caller, [editsGraph, ...own]);
  if (edits === "granted") return [];
  if (standings.every((one) => one !== "denied")) return own.filter((_right, index) => standings[index] === "step_up");
  return [edits === "step_up" ? editsGraph : viewAll];
};
