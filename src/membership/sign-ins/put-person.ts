import { randomUUID } from "node:crypto";
import { foreignId } from "#membership/graph/foreign-id.ts";
import { putEdge } from "#membership/graph/put-edge.ts";
import { lockNodes, putNode } from "#membership/graph/put-node.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";

export interface NewPerson {
  readonly tenant: string;
  /** Where the subject is an external id. */
  readonly system: string;
  readonly subject: string;
  readonly name: string;
  readonly login?: string | undefined;
  readonly email?: string | undefined;
}

/** A person with an account in the tenant; the id, or `undefined` where somebody has it already. */
export const putPerson = async (tx: GraphTransaction, given: NewPerson): Promise<string | undefined> => {
  const { tenant, system, subject, name } = given;
  const idsOf = (called: string) => ["person", "account"].map((prefix) => foreignId(prefix, system, called)) as [string, string];
  const held = await lockNodes(tx.sql, idsOf(subject));
  if ([...held.values()].some((row) => row.tenant_id === tenant)) return undefined;
  // What another tenant has under these ids is in nobody's way.
  const [person, account] = idsOf(held.size > 0 ? randomUUID() : subject);
  const common = { name, system, tenant_id: tenant };
  const props = given.email === undefined ? {} : { email: given.email };
  await putNode(tx, { ...common, id: person, kind: "Person", external_id: subject, props });
  await putNode(tx, { ...common, id: account, kind: "Account", props: { login: given.login ?? subject.slice(0, 254), system } });
  await putEdge(tx, { kind: "BELONGS_TO", src: person, dst: account });
  await putEdge(tx, { kind: "MEMBER_OF", src: account, dst: tenant });
  return person;
};
