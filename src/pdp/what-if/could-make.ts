import type { whatIf } from "#contract/what-if.ts";
import type { BodyOf } from "#contract/endpoint.ts";
import type { Caller } from "#authn/caller.ts";
import type { DecisionPoint } from "#pdp/decision-point.ts";
import { askOfCaller } from "#pdp/endpoints/ask-of-caller.ts";
import type { FactSource } from "#pdp/fact-source.ts";

type Body = BodyOf<typeof whatIf>;
type Edge = NonNullable<Body["changes"]["edges"]>["remove"][number];

export interface CouldMakeParts {
  readonly decisionPoint: DecisionPoint;
  readonly facts: Pick<FactSource, "gather">;
  /** This service, as it asks itself. */
  readonly self: string;
}

interface Right {
  readonly type: string;
  readonly action: string;
  readonly id?: string;
}

const editsGraph: Right = { type: "graph", action: "edit" };

/**
 * Whether the caller could make this very change to its own rights, so that asking tells it nothing that doing would not. Every part
 * must be the caller's to make now: an edge by who may edit the graph; a delegation of its own by who may give or end that one; a
 * stronger sign-in by anybody. An approval is another's to give, and other policies are not the caller's own rights. No change
 * at all is none that could be made.
 */
export const couldMake = async (caller: Caller, body: Body, parts: CouldMakeParts): Promise<boolean> => {
  const { edges, facts } = body.changes;
  const [add, remove] = [edges?.add ?? [], edges?.remove ?? []];
  if (body.subject_id !== caller.sub || caller.actors.length > 0 || body.version !== undefined || facts?.approved !== undefined)
    return false;
  if (add.length + remove.length === 0) return facts?.mfa !== undefined;

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
  const asked = [editsGraph, ...ownRights.map((right) => right ?? editsGraph)];
  const { verdicts } = await parts.decisionPoint.evaluateMany(
    asked.map((right) => askOfCaller(caller, parts.self, right)),
    "execute_all",
  );
  const [edits, ...own] = verdicts.map(({ decision }) => decision);
  return own.length === asked.length - 1 && (edits === true || own.every(Boolean));
};
