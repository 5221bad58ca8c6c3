import type { CedarValueJson, Context, EntityJson, StatefulAuthorizationCall, TypeAndId } from "@cedar-policy/cedar-wasm/nodejs";
import type { Properties } from "#pdp/model/ask.ts";
import type { Policy } from "#pdp/bundle/policies.ts";
import type { Schema, Shape } from "#pdp/bundle/schema.ts";
import { isRoleId } from "#contract/ids.ts";
import { isBuiltInTool } from "#pdp-client/pairs.ts";
import { isViaAgent, standingOf, type Question } from "#pdp/model/question.ts";

/** The policies that can apply to one action, and what they read. */
export interface PolicySlice {
  readonly policies: readonly Policy[];
  readonly context: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly entities: ReadonlySet<string>;
}

type Standing = ReturnType<typeof standingOf>;
/** What Cedar is asked: the question with every entity that it may look at. */
export type CedarRequest = Pick<StatefulAuthorizationCall, "principal" | "action" | "resource" | "context" | "entities">;

const entity = (type: string, id: string): TypeAndId => ({ type, id });
const reference = (type: string, id: string): CedarValueJson => ({ __entity: entity(type, id) });
const tenants = (ids: readonly string[]): CedarValueJson[] => ids.map((id) => reference("Tenant", id));

/** Ids of which Cedar needs to know that the principal is in them: those that a policy names; all of them without a slice. */
const named = (ids: readonly string[], wanted: ReadonlySet<string> | undefined): readonly string[] =>
  wanted === undefined ? ids : ids.filter((id) => wanted.has(id));

/** A value as an attribute of this type; `undefined` when it is none. */
const valueOf = (value: unknown, shape: Shape): CedarValueJson | undefined => {
  if (shape.type === "String") return typeof value === "string" ? value : undefined;
  if (shape.type === "Bool") return typeof value === "boolean" ? value : undefined;
  if (shape.type === "Long") return Number.isSafeInteger(value) ? (value as number) : undefined;
  if (shape.type === "Entity") return typeof value === "string" ? reference(shape.name, value) : undefined;
  if (shape.type === "Record") return typeof value === "object" && value !== null ? typed(value as Properties, shape) : undefined;
  if (shape.type !== "Set" || !Array.isArray(value)) return undefined;
  const members = value.map((member) => valueOf(member, shape.element));
  return members.every((member) => member !== undefined) ? members : undefined;
};

/** Members by the name that a schema gives them; one is made only where the schema declares it. */
type Made<Of> = ReadonlyMap<string, (of: Of) => CedarValueJson | undefined>;
const made = <Of>(members: Readonly<Record<string, (of: Of) => CedarValueJson | undefined>>): Made<Of> => new Map(Object.entries(members));

/** What the schema wants of an entity: what Sallyport knows of every one, else what the facts hold by that name. */
const attributesOf = <Of>(
  type: string,
  known: Made<Of>,
  of: Of,
  held: Properties | undefined,
  schema: Schema,
): Record<string, CedarValueJson> => {
  const found: Record<string, CedarValueJson> = {};
  for (const [name, shape] of Object.entries(schema.attributes(type))) {
    const make = known.get(name);
    const value = make === undefined ? valueOf(held?.[name], shape) : make(of);
    if (value !== undefined) found[name] = value;
  }
  return found;
};

type Identified = Question["facts"]["subject"];

const ofEverybody = made<{ readonly who: Identified; readonly question: Question }>({
  tenant: ({ question }) => reference("Tenant", question.tenant),
  disabled: ({ who }) => who.disabled,
  mfa_level: ({ who }) => who.mfa_level ?? "none",
});

const identity = (type: string, who: Identified, question: Question, schema: Schema, groups: readonly string[]): EntityJson => ({
  uid: entity(type, who.id),
  attrs: attributesOf(type, ofEverybody, { who, question }, who.attributes, schema),
  parents: groups.map((group) => entity(isRoleId(group) ? "BusinessRole" : "Group", group)),
});

/** `yaml://secret/people` and `yaml://secret` of `yaml://secret/people/demo`, the nearest first. */
export const pathsAbove = (uri: string): readonly string[] => {
  const start = uri.indexOf("://") + 3;
  const above: string[] = [];
  for (let at = uri.lastIndexOf("/"); at >= start; at = uri.lastIndexOf("/", at - 1)) above.push(uri.slice(0, at));
  return above;
};

/** Entities above the resource, of which its own policies speak. */
const parentsOf = (question: Question, slice: PolicySlice | undefined): EntityJson["parents"] => {
  const id = question.resourceId;
  const all: TypeAndId[] = [];
  if (question.pair.entity === "Secret") all.push(...pathsAbove(id).map((path) => entity("SecretPath", path)));
  if (question.pair.entity === "PageWidget") all.push(entity("Page", id.slice(0, Math.max(id.indexOf(":"), 0))));
  if (question.pair.entity === "PluginWidget" || question.pair.entity === "PluginRoute") all.push(entity("Plugin", id.split(":")[0] ?? id));
  if (question.pair.entity === "Tool") all.push(entity("System", id.slice(0, Math.max(id.lastIndexOf("."), 0))));
  return slice === undefined ? all : all.filter((parent) => slice.entities.has(`${parent.type}::${parent.id}`));
};

/** Whose the resource is. A collection, and what the graph does not hold, belongs to the tenant that asks. */
const tenantsOf = (question: Question): readonly string[] => {
  if (question.pair.of === "all") return [question.tenant];
  if (isBuiltInTool(question.pair, question.resourceId)) return [];
  return question.facts.resource?.tenant_ids ?? [question.tenant];
};

const ofEveryResource = made<{ readonly question: Question; readonly standing: Standing }>({
  tenants: ({ question }) => tenants(tenantsOf(question)),
  owners: ({ question }) => {
    const persons = question.facts.resource?.owners.filter((owner) => owner.startsWith("person:")) ?? [];
    return persons.map((owner) => reference("Person", owner));
  },
  restricted: ({ standing }) => standing.restricted,
  controlled: ({ standing }) => standing.controlled,
  step_up: ({ standing }) => standing.stepUp,
  built_in: ({ question }) => isBuiltInTool(question.pair, question.resourceId),
  // What a policy set that was activated earlier calls it.
  health: ({ question }) => isBuiltInTool(question.pair, question.resourceId),
});

const resourceEntity = (question: Question, standing: Standing, schema: Schema, slice: PolicySlice | undefined): EntityJson => ({
  uid: resourceUid(question),
  attrs: attributesOf(question.pair.entity, ofEveryResource, { question, standing }, question.facts.resource?.attributes, schema),
  parents: parentsOf(question, slice),
});

const resourceUid = (question: Question): TypeAndId =>
  question.pair.of === "all" ? entity("Collection", question.pair.type) : entity(question.pair.entity, question.resourceId);

/** Members that the schema declares and that have its type; what else somebody sent is not there for a policy. */
const typed = (values: Properties, shape: Shape | undefined): Record<string, CedarValueJson> => {
  if (shape?.type !== "Record") return {};
  const found: Record<string, CedarValueJson> = {};
  for (const [name, wanted] of Object.entries(shape.attributes)) {
    const value = Object.hasOwn(values, name) ? valueOf(values[name], wanted) : undefined;
    if (value !== undefined) found[name] = value;
  }
  return found;
};

interface Circumstances {
  readonly question: Question;
  readonly standing: Standing;
  /** What the schema declares of the action. */
  readonly declared: Readonly<Record<string, Shape>>;
}

/** These are there wherever the schema declares them: it may require them. */
const always = made<Circumstances>({
  tenant: ({ question }) => reference("Tenant", question.tenant),
  via_agent: ({ question }) => isViaAgent(question),
  granted: ({ standing }) => standing.granted,
  owner: ({ standing }) => standing.owner,
  assigned: ({ question }) => question.inputs.assigned,
  mfa: ({ standing }) => standing.mfa,
  approved: ({ standing }) => standing.approved,
  tools_scope: ({ question }) => question.inputs.tools_scope,
  capability: ({ question }) => question.facts.capability,
  chain: ({ question }) => question.facts.chain,
  definition_ok: ({ standing }) => standing.definitionOk,
});

/** These are there if there is something to say, and a policy that may apply reads it. */
const ifRead = made<Circumstances>({
  agent: ({ question: { facts } }) => (facts.agent === null ? undefined : reference("AIAgent", facts.agent.id)),
  delegation: ({ standing }) => standing.delegation,
  props: ({ question, declared }) => typed(question.props, declared["props"]),
  claimed: ({ question, declared }) => typed(question.claimed, declared["claimed"]),
  ui: ({ question, declared }) => typed(question.ui, declared["ui"]),
  tool: ({ question: { inputs } }) => (inputs.tool === undefined ? undefined : { ...inputs.tool }),
  said_of_subject: ({ question, declared }) => typed(question.said?.subject ?? {}, declared["said_of_subject"]),
  said_of_action: ({ question, declared }) => typed(question.said?.action ?? {}, declared["said_of_action"]),
});

const contextOf = (question: Question, standing: Standing, schema: Schema, slice: PolicySlice | undefined): Context => {
  const declared = schema.actions.get(question.pair.key)?.context ?? {};
  const circumstances = { question, standing, declared };
  const context: Context = {};
  for (const name in declared) {
    const isWanted = slice === undefined || slice.context.has(name);
    const value = (always.get(name) ?? (isWanted ? ifRead.get(name) : undefined))?.(circumstances);
    if (value !== undefined) context[name] = value;
  }
  return context;
};

/** An entity that Cedar would know no less of without: it has no attribute and is in nothing. */
const saysNothing = ({ attrs, parents }: EntityJson): boolean => parents.length === 0 && Object.keys(attrs).length === 0;

/** The question in Cedar's words. With a slice only what its policies read; without one everything there is. */
export const requestOf = (question: Question, schema: Schema, slice: PolicySlice | undefined): CedarRequest => {
  const standing = standingOf(question);
  const { subject, agent } = question.facts;
  // An agent that is its own subject is one entity: either word of it being switched off counts.
  const disabled = subject.disabled || (agent?.id === subject.id && agent.disabled);
  const entities = [
    identity(subject.kind, { ...subject, disabled }, question, schema, named(subject.groups, slice?.groups)),
    resourceEntity(question, standing, schema, slice),
  ];
  if (agent !== null && agent.id !== subject.id && (slice === undefined || slice.context.has("agent"))) {
    entities.push(identity("AIAgent", agent, question, schema, named(agent.groups, slice?.groups)));
  }
  return {
    principal: entity(subject.kind, subject.id),
    action: entity("Action", question.pair.key),
    resource: resourceUid(question),
    context: contextOf(question, standing, schema, slice),
    entities: slice === undefined ? entities : entities.filter((one) => !saysNothing(one)),
  };
};
