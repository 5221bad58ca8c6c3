import { Problem } from "#contract/problem.ts";
import type { Inbound } from "#gateway/front-door/inbound.ts";

/** Reads X-Request-ID as the standard has it: 1-256 printable ASCII characters, given back unchanged. */
const parseRequestId = (inbound: Inbound): string | undefined => {
  const id = inbound.headers.get("x-request-id");
  if (id === undefined || /^[\x20-\x7e]{1,256}$/.test(id)) return id;
  throw new Problem("invalid_request", {
    errors: [{ path: "header.x-request-id", message: "must be 1 to 256 printable ASCII characters" }],
  });
};

/** Answers with the request's own id beside whatever comes of it, errors too; nothing of it may be kept. */
export const answerFacade = async (
  inbound: Inbound,
  work: (requestId: string | undefined) => Promise<{ readonly value: unknown; readonly headers: Readonly<Record<string, string>> }>,
): Promise<Response> => {
  const requestId = parseRequestId(inbound);
  const echo: Record<string, string> = requestId === undefined ? {} : { "x-request-id": requestId };
  try {
    const { value, headers } = await work(requestId);
    return new Response(JSON.stringify(value), {
      headers: { "content-type": "application/json", "cache-control": "no-store", ...headers, ...echo },
    });
  } catch (error) {
    if (requestId === undefined || !(error instanceof Problem)) throw error;
    throw new Problem(error.code, { ...error.options, headers: { ...error.options.headers, ...echo } });
  }
};
