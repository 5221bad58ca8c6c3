import type { FactAsk, Facts } from "#contract/facts.ts";
import { isRoleId } from "#contract/ids.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { FactSource } from "#pdp/facts/fact-source.ts";
import type { CandidateSource } from "#pdp/facts/candidate-source.ts";
import type { RequestRow } from "#pdp/records/request-store.ts";

/** Who may answer, as the template says: ids of the graph, and the persons that they come to. */
export interface NamedApprovers {
  readonly approvers: readonly string[];
  /** Nobody of them asked or is asked about; none: nobody can answer. */
  readonly persons: readonly string[];
}

type Party = Pick<RequestRow, "tenant" | "subject" | "requester" | "agents">;

/** What an approver must be approver of. */
type Asked = Party & Pick<RequestRow, "approver_rule" | "action">;

export interface Approvers {
  /** By the facts of the denied question as they are now. */
  name(rule: string, facts: Facts, party: Party): Promise<NamedApprovers>;
  /** Ids in whose name the caller may answer: its own and those of its groups; none when it may answer nothing at all. */
  namesOf(caller: Caller): Promise<readonly string[]>;
  /** By the graph of this moment. `factsOf` are those of the denied question. */
  mayAnswer(caller: Caller, asked: Asked, factsOf: () => Promise<Facts | undefined>): Promise<{ readonly name?: string } | undefined>;
}

const CHUNK = 500;
/** A group whose members are not found among so many identities of a tenant is taken as one without any. */
const MAX_IDENTITIES = 50_000;

const groupOf = (rule: string): string | undefined => (rule.startsWith("group:") || isRoleId(rule) ? rule : undefined);

/** Ids of the graph that a template's rule comes to. */
export const approversBy = (rule: string, facts: Pick<Facts, "agent" | "resource">): readonly string[] => {
  const group = groupOf(rule);
  if (group !== undefined) return [group];
  return rule === "agent_controller" ? (facts.agent?.controllers ?? []) : (facts.resource?.owners ?? []);
};

const about = (id: string, tenant: string): FactAsk => ({
  subject_id: id,
  action: "view_all",
  resource: { type: "pages", external_id: "*" },
  tenant_id: tenant,
});

/** Agents and services answer nothing: a second person looks. */
const isPerson = (subject: Facts["subject"], tenant: string): subject is NonNullable<Facts["subject"]> =>
  subject !== null && (subject.kind === "Person" || subject.kind === "Account") && !subject.disabled && subject.tenant_ids.includes(tenant);

const isParty = (id: string, { subject, requester, agents }: Party): boolean => id === subject || id === requester || agents.includes(id);

export const createApprovers = (parts: { readonly facts: FactSource; readonly candidates: CandidateSource }): Approvers => {
  const { facts, candidates } = parts;

  const whoIs = async (ids: readonly string[], tenant: string) =>
    ids.length === 0 ? [] : (await facts.gather(ids.map((id) => about(id, tenant)))).facts.map(({ subject }) => subject);

  /** Persons of the tenant that are one of these or in one of them. */
  const personsOf = async (approvers: readonly string[], party: Party): Promise<readonly string[]> => {
    const found = new Set<string>();
    const note = (subjects: readonly Facts["subject"][]): void => {
      for (const subject of subjects) {
        if (!isPerson(subject, party.tenant) || isParty(subject.id, party)) continue;
        if ([subject.id, ...subject.groups].some((id) => approvers.includes(id))) found.add(subject.id);
      }
    };
    const named = await whoIs(approvers, party.tenant);
    note(named);
    // What is not somebody may be a group: its members are found by looking at everybody.
    if (named.every((subject) => subject !== null && subject.kind !== "Group")) return [...found].toSorted();
    let after: string | undefined;
    for (let seen = 0; seen < MAX_IDENTITIES; seen += CHUNK) {
      const ids = await candidates.list({ of: "subject", type: "identity", action: "view", tenant_id: party.tenant, limit: CHUNK, after });
      note(await whoIs(ids, party.tenant));
      after = ids.at(-1);
      if (ids.length < CHUNK) break;
    }
    return [...found].toSorted();
  };

  const self = async (caller: Caller, tenant: string): Promise<Facts["subject"]> => {
    if (caller.actors.length > 0 || caller.tenant !== tenant) return null;
    const [subject = null] = await whoIs([caller.sub], tenant);
    return isPerson(subject, tenant) ? subject : null;
  };

  return {
    name: async (rule, known, party) => {
      const approvers = [...new Set(approversBy(rule, known))].toSorted();
      return { approvers, persons: await personsOf(approvers, party) };
    },
    namesOf: async (caller) => {
      const subject = await self(caller, caller.tenant);
      return subject === null ? [] : [subject.id, ...subject.groups];
    },
    mayAnswer: async (caller, asked, factsOf) => {
      if (isParty(caller.sub, asked)) return undefined;
      const subject = await self(caller, asked.tenant);
      if (subject === null) return undefined;
      const group = groupOf(asked.approver_rule);
      const known = group === undefined ? await factsOf() : undefined;
      const ids = group === undefined ? (known === undefined ? [] : approversBy(asked.approver_rule, known)) : [group];
      return [subject.id, ...subject.groups].some((id) => ids.includes(id)) ? { name: subject.name } : undefined;
    },
  };
};
