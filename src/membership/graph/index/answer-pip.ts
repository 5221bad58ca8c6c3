import { compareTexts } from "#membership/graph/graph-reader.ts";
import { identityKinds } from "#membership/model/kinds.ts";
import { statuses } from "./delegations.ts";
import { edgeKindNumber } from "./edges.ts";
import { kindNumber } from "./nodes.ts";
import { delegationsBetween, eachOut, idsOf, isActive, seenNode, soonest, type IndexAnswer, type View } from "./view.ts";

const HAS_CAPABILITY = edgeKindNumber("HAS_CAPABILITY");
const REQUIRES = edgeKindNumber("REQUIRES");
const identities: ReadonlySet<number> = new Set(identityKinds.map(kindNumber));

/** Delegations user -> agent whose two ends may act. */
const between = (view: View, userId: string, agentId: string | undefined): readonly number[] => {
  const user = seenNode(view, userId);
  const agent = agentId === undefined ? undefined : seenNode(view, agentId);
  if (user === -1 || agent === -1 || !view.graph.nodes.isActive(user)) return [];
  return delegationsBetween(view, user, agent).filter((one) => isActive(view, view.graph.delegations.agent(one)));
};

/** Tools that live ones of these delegations reach, approved and with the definition that was approved for the agent; and until when. */
const reachOf = (view: View, held: readonly number[]) => {
  const { graph, now } = view;
  const { delegations, edges, nodes } = graph;
  const turn = soonest(now);
  const tools = new Set<number>();
  for (const one of held) {
    for (const above of delegations.path(one)) turn.add(delegations.nextTurn(above, now));
    const isLive = delegations.isLive(one, now);
    eachOut(view, delegations.agent(one), HAS_CAPABILITY, (edge) => {
      turn.add(edges.ends.get(edge) ?? Infinity);
      const tool = edges.target(edge);
      if (!isLive || tools.has(tool) || !nodes.isApproved(tool) || !nodes.isSeen(tool, view.sight) || !delegations.covers(one, tool))
        return;
      const { digest } = graph.note(edge);
      if (digest === undefined || digest === nodes.digest(tool)) tools.add(tool);
    });
  }
  return { tools, turn };
};

export const answerCapabilities: IndexAnswer<"capabilities"> = (view, ask) => {
  const { tools, turn } = reachOf(view, between(view, ask.userId, ask.agentId));
  return { version: view.version, value: idsOf(view, tools), validUntil: turn.text() };
};

export const answerChain: IndexAnswer<"chain"> = (view, ask) => {
  const { graph } = view;
  const { nodes } = graph;
  const { tools, turn } = reachOf(view, between(view, ask.userId, ask.agentId));
  const tool = nodes.names.find(ask.toolId);
  const apps: { readonly id: string; readonly audience: string; readonly scopes: readonly string[] }[] = [];
  if (tool !== -1)
    eachOut(view, tool, REQUIRES, (edge) => {
      turn.add(graph.edges.ends.get(edge) ?? Infinity);
      const app = graph.edges.target(edge);
      if (!tools.has(tool) || !isActive(view, app)) return;
      const { audience, scopes } = nodes.props(app) as { audience: string; scopes: readonly string[] };
      const own = graph.note(edge)["scopes"] as readonly string[] | undefined;
      apps.push({ id: nodes.names.nameOf(app), audience, scopes: own ?? scopes });
    });
  apps.sort((one, other) => compareTexts(one.id, other.id));
  return { version: view.version, value: apps.map(({ audience, scopes }) => ({ audience, scopes })), validUntil: turn.text() };
};

export const answerDelegations: IndexAnswer<"delegations"> = (view, ask) => {
  const { graph, now } = view;
  const { delegations } = graph;
  const held = between(view, ask.userId, ask.agentId);
  const turn = soonest(now);
  for (const one of held) for (const above of delegations.path(one)) turn.add(delegations.nextTurn(above, now));
  const rows = held
    .map((one) => ({ one, id: delegations.names.nameOf(one), status: delegations.status(one, now), ends: delegations.ends(one) }))
    .filter(({ status }) => ask.status === undefined || status === ask.status)
    .sort(
      (first, second) =>
        statuses.indexOf(first.status) - statuses.indexOf(second.status) ||
        (first.ends === second.ends ? 0 : first.ends - second.ends) ||
        compareTexts(first.id, second.id),
    )
    .slice(ask.offset, ask.offset + ask.limit);
  const value = rows.map(({ one, id, status }) => ({
    delegation_id: id,
    status,
    max_steps: delegations.maxSteps(one),
    budget_usd: delegations.budgetUsd(one),
    expires_at: delegations.endsAt(one),
  }));
  return { version: view.version, value, validUntil: turn.text() };
};

export const answerAssurance: IndexAnswer<"assurance"> = (view, subjectId) => {
  const { nodes } = view.graph;
  const node = seenNode(view, subjectId);
  const isIdentity = node !== -1 && nodes.isActive(node) && identities.has(nodes.kind(node));
  const level = isIdentity ? nodes.props(node)["mfa_level"] : undefined;
  return { version: view.version, value: typeof level === "string" ? level : null, validUntil: null };
};
