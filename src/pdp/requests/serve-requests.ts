import {
  answerAccessRequest,
  cancelAccessRequest,
  createAccessRequest,
  getAccessRequest,
  listAccessRequests,
} from "#contract/access-requests.ts";
import { idempotencyKey } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { answer, type Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import type { ListPosition } from "#pdp/records/list-calls.ts";
import type { AccessRequests } from "./access-requests.ts";

const requireKey = (request: Request): string => {
  const key = request.headers.get("idempotency-key");
  if (key === null || !idempotencyKey.safeParse(key).success)
    throw new Problem("idempotency_key_required", { detail: "Send Idempotency-Key: 1 to 128 of A-Z a-z 0-9 . _ : -" });
  return key;
};

/** The endpoints of the access request profile, and those of the approver. */
export const serveRequests = (
  router: Router<Caller>,
  { requests, cursors }: { readonly requests: AccessRequests; readonly cursors: SealedCursors<ListPosition> },
): void => {
  router.serve(createAccessRequest, async (call) => {
    const reply = await requests.create(call, call.body, requireKey(call.request));
    return answer(reply, { headers: { location: reply.task.status_endpoint } });
  });
  router.serve(listAccessRequests, async (call) => {
    const { as, status, limit, cursor } = call.query;
    const bound = ["requests", call.caller.sub, call.caller.agent, call.caller.tenant, as, status];
    const before = cursor === undefined ? undefined : cursors.open(cursor, bound).callId;
    const { tasks, next } = await requests.list(call, { as, status, before, limit });
    return { requests: [...tasks], nextCursor: next && cursors.seal({ callId: next, index: 0 }, bound) };
  });
  router.serve(getAccessRequest, (call) => requests.read(call, call.params.id));
  router.serve(cancelAccessRequest, (call) => requests.cancel(call, call.params.id));
  router.serve(answerAccessRequest, (call) => requests.answer(call, call.params.id, call.body));
};
