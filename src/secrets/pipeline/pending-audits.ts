import type { Endpoint } from "#contract/endpoint.ts";
import type { Caller } from "#authn/model/caller.ts";
import { answer, Answer, type Handler, type Router } from "#http/serve.ts";
import type { Who } from "./pipeline.ts";

/**
 * An answer leaves marked `audit: "pending"` where the audit entry of an act that it tells of could not be closed in time (it is
 * retried), whichever endpoint it is of and however many acts it took.
 */
export const createPendingAudits = () => {
  const requests = new WeakSet<Headers>();
  return {
    note: ({ headers }: Pick<Who, "headers">): void => void requests.add(headers),
    /** The router, whose answers are marked. */
    marking: (router: Router<Caller>): Router<Caller> => ({
      ...router,
      serve: <E extends Endpoint>(endpoint: E, handler: Handler<E, Caller>) =>
        router.serve(endpoint, async (call) => {
          const given = await handler(call);
          if (given instanceof Response || !requests.has(call.request.headers)) return given;
          const { value, status, headers } = given instanceof Answer ? given : answer(given);
          return new Answer(Object.assign({}, value, { audit: "pending" }), status, headers);
        }),
    }),
  };
};
