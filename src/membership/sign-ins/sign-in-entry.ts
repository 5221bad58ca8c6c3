import type { LinkedPerson } from "#authn/claims.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import { doneEntry } from "#membership/delegations/acts.ts";
import type { WriteBy } from "#membership/graph/write.ts";

/** What a sign-in changed of who somebody is. */
export const signInEntry = (
  person: LinkedPerson,
  by: Pick<WriteBy, "correlationId">,
  data: Readonly<Record<string, unknown>> & { readonly op: string },
): EntryDraft =>
  doneEntry({
    tenant: person.tenant,
    category: "governance",
    actor: { subject: person.id, kind: "person" },
    resource: { type: "identities", id: person.id },
    correlationId: by.correlationId,
    data,
  });
