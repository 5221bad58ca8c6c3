import { statement, type Sql } from "#store/database.ts";
import type { LinkedPerson } from "#authn/model/claims.ts";
import { lockNodes } from "#membership/graph/put-node.ts";
import type { GraphTransaction } from "#membership/graph/write.ts";
import type { SignInWays } from "#membership/graph/remaining-holders.ts";
import { findPerson } from "./find-person.ts";
import { addLink, findLinked, type Subject } from "./links.ts";
import { putPerson } from "./put-person.ts";

/** Who somebody may become at sign-in, as the settings have it. */
export interface SignInRules extends SignInWays {
  /** Where the provider's subjects are external ids. */
  readonly system: string;
  /** Claim value -> ids of groups; of groups.yaml. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
}

export interface SignIn extends Subject {
  readonly tenant?: string | undefined;
  readonly name?: string | undefined;
  readonly login?: string | undefined;
  readonly email?: string | undefined;
}

export interface Settled {
  readonly person: LinkedPerson;
  readonly how: "linked" | "match" | "create";
}

/** Two first sign-ins of one subject at once are one after the other. */
const LOCK = statement("membership.sign_in_lock", "select pg_advisory_xact_lock(hashtextextended('membership.sign_in.' || $1, 0))");

/** A tenant that a claim names is not made by it, nor woken. */
const hasTenant = async (sql: Sql, id: string): Promise<boolean> => {
  const tenant = (await lockNodes(sql, [id])).get(id);
  return tenant?.kind === "Tenant" && tenant.state === "active";
};

/** Without a link, by the rules; `undefined`: nobody. Never somebody who may more than everybody, or is somebody else's already. */
const newlyLinked = async (tx: GraphTransaction, rules: SignInRules, signIn: SignIn): Promise<Settled | undefined> => {
  const { tenant, subject, email, login } = signIn;
  const { system } = rules;
  if (rules.provision === "off" || tenant === undefined) return undefined;
  const found = await findPerson(tx.sql, { tenant, system, subject, email });
  if (found === "guarded") return undefined;
  const link = async (personId: string, how: "match" | "create"): Promise<Settled> => {
    await addLink(tx.sql, { ...signIn, personId, how, by: "service:gateway" });
    return { person: { id: personId, tenant }, how };
  };
  if (found !== undefined) return link(found.id, "match");
  if (rules.provision !== "create" || !(await hasTenant(tx.sql, tenant))) return undefined;
  const made = await putPerson(tx, { tenant, system, subject, name: signIn.name ?? subject, login: login ?? email, email });
  return made === undefined ? undefined : link(made, "create");
};

/** Who signs in, by an existing link or a new one. `undefined`: nobody. Cost: one statement for who is linked. */
export const settlePerson = async (tx: GraphTransaction, rules: SignInRules, signIn: SignIn): Promise<Settled | undefined> => {
  await tx.sql.run(LOCK, [`${signIn.issuer}\n${signIn.subject}`]);
  const linked = await findLinked(tx.sql, signIn);
  return linked === undefined ? newlyLinked(tx, rules, signIn) : { person: linked, how: "linked" };
};
