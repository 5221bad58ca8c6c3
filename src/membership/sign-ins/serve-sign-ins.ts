import { settleSignIn } from "#contract/sign-ins.ts";
import { Problem } from "#contract/problem.ts";
import { unknownPerson, type LinkedPerson } from "#authn/model/claims.ts";
import { lockNodes } from "#membership/graph/put-node.ts";
import type { WriteBy } from "#membership/graph/write.ts";
import type { MembershipContext } from "#membership/context/context.ts";
import { noteSignIn } from "./first-administrator.ts";
import { findLinked } from "./links.ts";
import { settleGroups, signInEntry } from "./settle-groups.ts";
import { settlePerson, type SignIn, type SignInRules } from "./settle-person.ts";

/** Who somebody is who has just signed in. The gateway alone asks, after the provider has answered for them. */
export const serveSignIns = (context: MembershipContext, rules: SignInRules): void => {
  const { router, database, write } = context;

  /** By a link, or one that the rules make now; `undefined`: nobody. */
  const linkedPerson = async (by: WriteBy, signIn: SignIn): Promise<LinkedPerson | undefined> => {
    const { value } = await write(by, async (tx) => {
      const settled = await settlePerson(tx, rules, signIn);
      if (settled === undefined || settled.how === "linked") return { value: settled?.person };
      const { person, how } = settled;
      return { value: person, entries: () => [signInEntry(person, by, { op: "person_linked", how, issuer: signIn.issuer })] };
    });
    return value;
  };
  /** The person whose id the subject is, where subjects are ids. */
  const namedPerson = async (subject: string, tenant: string): Promise<LinkedPerson | undefined> => {
    const id = `${rules.subjectPrefix}${subject}`;
    const node = (await database.transaction((sql) => lockNodes(sql, [id]))).get(id);
    return node?.kind === "Person" && node.tenant_id === tenant ? { id, tenant } : undefined;
  };

  router.serve(settleSignIn, async ({ caller, body, correlationId }) => {
    if (!caller.isInternalService) throw new Problem("access_denied");
    const known = await findLinked(database, body);
    const tenantId = known?.tenant ?? body.tenant;
    const isOpen = rules.provision === "off";
    await noteSignIn(database, known?.id ?? `${rules.subjectPrefix}${body.subject}`);
    if (tenantId === undefined) {
      if (isOpen) return { person: null };
      throw unknownPerson(body.issuer, body.subject, undefined);
    }
    const by = { actor: "service:gateway", source: "sync", reason: "Signed in at the OpenID provider", correlationId, tenantId } as const;
    const linked = known ?? (isOpen ? undefined : await linkedPerson(by, body));
    if (linked === undefined && !isOpen) throw unknownPerson(body.issuer, body.subject, body.tenant);
    if (body.groups !== undefined) {
      const person = linked ?? (await namedPerson(body.subject, tenantId));
      const wanted = new Set(body.groups.flatMap((value) => rules.groups.get(value) ?? []));
      if (person !== undefined) await settleGroups(context, by, person, wanted);
    }
    return { person: linked ?? null };
  });
};
