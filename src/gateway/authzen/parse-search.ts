import { z } from "zod";
import { action, entityId, resource } from "#contract/authzen.ts";
import { searchPage } from "#contract/searches.ts";
import { jsonMembers } from "#contract/json-members.ts";
import { Problem } from "#contract/problem.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { pairOf } from "#pdp-client/pairs.ts";
import { createItemSizes, sizeIssue } from "./item-size.ts";

type Members = Readonly<Record<string, unknown>>;
export type SearchKind = "subject" | "resource" | "action";

/** A page without a limit has as many as its token says, which only the decision point can read. */
export const MAX_RESULTS = 1000;

/** A search of a client, well-formed; nothing in it is believed yet. What is searched has no id here. */
export interface FacadeSearch {
  readonly kind: SearchKind;
  /** Type of the searched subjects; of the other searches it is the caller's own. */
  readonly subjectType: string;
  readonly action: z.infer<typeof action> | undefined;
  readonly resource: { readonly type: string; readonly id: string | undefined; readonly properties: Members };
  readonly context: Members;
  readonly page: z.infer<typeof searchPage> | undefined;
  /** True: the client named a subject where it has none to name. */
  readonly hasSubject: boolean;
}

const common = { context: jsonMembers.optional(), page: searchPage.optional(), subject: z.unknown().optional() };
const whole = resource.extend({ id: entityId.optional() });
const shapes = {
  subject: z.looseObject({ ...common, subject: z.looseObject({ type: resource.shape.type }), action, resource: whole }),
  resource: z.looseObject({ ...common, action, resource: resource.omit({ id: true }) }),
  action: z.looseObject({ ...common, resource: whole }),
} as const;

/** Reads the body of a search. Throws `invalid_request` with every fault, `reserved_resource_id`. */
export const parseSearchQuestion = (kind: SearchKind, body: unknown, limits: { readonly itemBytes: number }): FacadeSearch => {
  const read = shapes[kind].safeParse(body);
  if (!read.success) throw new Problem("invalid_request", { errors: issuesOf(read.error) });
  const sent: Members & z.infer<typeof shapes.action> = read.data;
  const asked = action.optional().safeParse(kind === "action" ? undefined : sent["action"]).data;
  const { type, properties = {} } = sent.resource;
  const id = kind === "resource" ? undefined : sent.resource.id;
  if (id === "*") throw new Problem("reserved_resource_id");
  // A right to a whole collection is asked for without an id; everything else has one.
  const isCollection = asked !== undefined && pairOf(type, asked.name)?.of === "all";
  if (kind !== "resource" && id === undefined && !isCollection)
    throw new Problem("invalid_request", { errors: [{ path: "/resource/id", message: "is missing" }] });
  const tooLarge = sizeIssue(createItemSizes()([asked?.properties, properties, sent.context]), limits.itemBytes);
  if (tooLarge !== undefined) throw new Problem("invalid_request", { errors: [{ path: "", message: tooLarge }] });
  return {
    kind,
    subjectType: kind === "subject" ? (sent.subject as { type: string }).type : "identity",
    action: asked,
    resource: { type, id, properties },
    context: sent.context ?? {},
    page: sent.page,
    hasSubject: kind !== "subject" && sent.subject !== undefined,
  };
};
