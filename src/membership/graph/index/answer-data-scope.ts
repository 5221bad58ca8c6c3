import type { Answered, Asked, DataScope } from "#membership/graph/graph-reader.ts";
import { dataScopeOf, type DataScopeOptions } from "#membership/graph/sql-data-scope.ts";
import { PLATFORM } from "#membership/graph/built-in-roles.ts";
import { edgeKindNumber } from "./edges.ts";
import { kindNumber } from "./nodes.ts";
import { eachOut, idsOf, isActive, seenNode, soonest, type View } from "./view.ts";

const BELONGS_TO = edgeKindNumber("BELONGS_TO");
const MEMBER_OF = edgeKindNumber("MEMBER_OF");
const ACCOUNT = kindNumber("Account");
const TENANT = kindNumber("Tenant");
const circleKinds: ReadonlySet<number> = new Set([kindNumber("Group"), kindNumber("BusinessRole")]);
/** How deep groups may nest. */
const MAX_DEPTH = 8;

/**
 * Exactly subject -BELONGS_TO-> Account -MEMBER_OF (once or twice)-> Tenant; an account starts at itself. Every node on the way is active.
 * Groups, which masks look at, nest to any depth that can be written.
 */
export const answerDataScope = (view: View, ask: Asked<"dataScope">, options: DataScopeOptions): Answered<DataScope> => {
  const { graph, now, version } = view;
  const { nodes, edges, rules } = graph;
  const turn = soonest(now);
  const step = (from: ReadonlySet<number>, kind: number): Set<number> => {
    const reached = new Set<number>();
    for (const node of from)
      eachOut(view, node, kind, (edge) => {
        if (isActive(view, edges.target(edge))) reached.add(edges.target(edge));
      });
    return reached;
  };

  const subject = seenNode(view, ask.subjectId);
  const who: ReadonlySet<number> = new Set(subject !== -1 && nodes.isActive(subject) ? [subject] : []);
  const accounts = step(who, BELONGS_TO);
  for (const node of who) if (nodes.kind(node) === ACCOUNT) accounts.add(node);
  const first = step(accounts, MEMBER_OF);
  const second = step(first, MEMBER_OF);
  const tenants = new Set([...first, ...second].filter((node) => nodes.kind(node) === TENANT));

  const circles = new Set<number>();
  let level: ReadonlySet<number> = new Set([...accounts, ...who]);
  for (let depth = 1; depth <= MAX_DEPTH && level.size > 0; depth++) {
    const next = [...step(level, MEMBER_OF)].filter((node) => circleKinds.has(nodes.kind(node)) && !circles.has(node));
    for (const node of next) circles.add(node);
    level = new Set(next);
  }

  if (edges.ends.size > 0)
    for (const node of new Set([...who, ...accounts, ...first, ...circles]))
      for (const kind of [BELONGS_TO, MEMBER_OF]) eachOut(view, node, kind, (edge) => turn.add(edges.ends.get(edge) ?? Infinity));
  const home = subject === -1 || who.size === 0 ? null : nodes.tenant(subject);
  const facts = {
    subjectId: ask.subjectId,
    tenantIds: idsOf(view, tenants),
    groups: idsOf(view, circles).filter((id) => id !== PLATFORM || (home !== null && home === graph.operator)),
    rule: home === null ? null : (rules.get(`${home} ${ask.resourceType}`) ?? null),
  };
  return { version, value: dataScopeOf(facts, options), validUntil: turn.text() };
};
