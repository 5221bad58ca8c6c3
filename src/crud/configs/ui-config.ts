import { ask } from "#contract/ask.ts";
import { askFacts } from "#contract/facts.ts";
import { Problem } from "#contract/problem.ts";
import { uiConfig } from "#contract/tools.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Router } from "#http/serve.ts";
import type { UiDocument } from "#crud/documents/ui-document.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";

/** What the graph says of a subject: its groups, nested ones included, and the name it goes by. */
export const readSubject = async (
  subjectId: string,
  tenant: string,
  parts: MembershipParts,
  correlationId: string,
): Promise<{ readonly groups: readonly string[]; readonly name: string } | undefined> => {
  try {
    const answer = await ask(parts.membership, askFacts, {
      body: {
        asks: [{ subject_id: subjectId, action: "view", resource: { type: "identities", external_id: subjectId }, tenant_id: tenant }],
      },
      headers: await asService(parts, ["pip.read"], correlationId),
    });
    const subject = answer.facts[0]?.subject ?? null;
    return subject === null || !subject.tenant_ids.includes(tenant)
      ? undefined
      : { groups: subject.disabled ? [] : subject.groups, name: subject.name };
  } catch (cause) {
    throw new Problem("membership_unavailable", { cause });
  }
};

/** Module switches of the web client. A switch only hides: what a module shows is decided where it is served. */
export const serveUiConfig = (router: Router<Caller>, document: UiDocument, parts: MembershipParts): void => {
  router.serve(uiConfig, async ({ caller, correlationId }) => {
    const subject = await readSubject(caller.sub, caller.tenant, parts, correlationId);
    const groups = new Set(subject?.groups ?? []);
    const on = [...document.modules].filter(([, seenBy]) => !seenBy.isDisjointFrom(groups));
    return { modules: Object.fromEntries(on.map(([name]) => [name, true])), brand: { ...document.brand } };
  });
};
