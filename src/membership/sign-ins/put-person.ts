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
  const [person, account] = ["person", "account"].map((prefix) => foreignId(prefix, system, subject)) as [string, string];
  if ((await lockNodes(tx.sql, [person, account])).size > 0) return undefined;
  const common = { name, system, tenant_id: tenant };
  const props = given.email === undefined ? {} : { email: given.email };
  await putNode(tx, { ...common, id: person, kind: "Person", external_id: subject, props });
  await putNode(tx, { ...common, id: account, kind: "Account", props: { login: given.login ?? subject.slice(0, 254), system } });
  await putEdge(tx, { kind: "BELONGS_TO", src: person, dst: account });
  await putEdge(tx, { kind: "MEMBER_OF", src: account, dst: tenant });
  return person;
};
