import { isRequestId, requestIdIssue } from "#contract/ids.ts";
import { Problem } from "#contract/problem.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { problemResponse } from "#http/problem-body.ts";

type Fetch = (request: Request) => Promise<Response>;

/**
 * Gives `X-Request-ID` back unchanged on every answer, errors too, as AuthZEN asks; one that is not 1-256 printable ASCII
 * characters is refused. `more` are headers that every answer carries.
 */
export const withRequestId =
  (fetch: Fetch, more: Readonly<Record<string, string>>): Fetch =>
  async (request) => {
    const id = request.headers.get("x-request-id");
    const isFit = id === null || isRequestId(id);
    const response = isFit
      ? await fetch(request)
      : problemResponse(
          new Problem("invalid_request", { errors: [requestIdIssue] }),
          correlationIdOf(request.headers.get("x-correlation-id")),
        );
    if (isFit && id !== null) response.headers.set("x-request-id", id);
    for (const [name, value] of Object.entries(more)) response.headers.set(name, value);
    return response;
  };
