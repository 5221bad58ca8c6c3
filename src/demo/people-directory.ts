import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { correlationIdOf } from "#http/correlation-id.ts";
import { issuesOf, queryIssuesOf } from "#contract/shape-issues.ts";
import { listenService, loopbackHosts, type Listening } from "#http/listen.ts";
import { asProblem, problemResponse } from "#http/problem-body.ts";
import { readBytes } from "#http/read-bytes.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import type { Log } from "#telemetry/log.ts";
import { seedEmployees, type Employee } from "./employees.ts";

/** A small HTTP system of record outside Sallyport: it knows its API key and nothing of callers, agents or tenants' walls. */
export interface PeopleDirectory {
  fetch(request: Request): Promise<Response>;
  /** Binds loopback unless a host is given; port 0 = any free one. */
  listen(options: { readonly port: number; readonly host?: string }): Promise<Listening>;
  /** Requests seen so far, refused ones included. */
  readonly requests: number;
  /** Salary changes carried out; a repeated `Idempotency-Key` does not count again. */
  readonly changes: number;
}

const MAX_BODY_BYTES = 16_384;
const REMEMBER_MS = 24 * 3_600_000;
const MAX_REMEMBERED = 10_000;

const listQuery = z.strictObject({
  dept: z.string().min(1).max(60).optional(),
  limit: z
    .string()
    .regex(/^[0-9]{1,4}$/, "must be a whole number")
    .transform(Number)
    .refine((value) => value >= 1 && value <= 200, "must be 1 to 200")
    .default(50),
  after: z.string().min(1).max(200).optional(),
});
const salaryBody = z.strictObject({ salary: z.number().int().min(0).max(100_000_000) });
const idempotencyKey = /^[\x21-\x7e]{1,255}$/;

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
const cursorOf = (employee: Employee): string => Buffer.from(`after:${employee.id}`).toString("base64url");
const newestFirst = (a: Employee, b: Employee): number =>
  a.hired_at === b.hired_at ? Number(b.id.slice(1)) - Number(a.id.slice(1)) : a.hired_at < b.hired_at ? 1 : -1;

const reply = (status: number, body: unknown, correlationId: string, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", "x-correlation-id": correlationId, ...headers },
  });

const parseQuery = (url: URL): z.output<typeof listQuery> => {
  const given: Record<string, string> = {};
  for (const [name, value] of url.searchParams) {
    if (Object.hasOwn(given, name))
      throw new Problem("ambiguous_query", { errors: [{ path: `query.${name}`, message: "is given twice" }] });
    given[name] = value;
  }
  const read = listQuery.safeParse(given);
  if (!read.success) throw new Problem("invalid_query", { errors: queryIssuesOf(read.error) });
  return read.data;
};

const parseSalary = async (request: Request): Promise<number> => {
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) throw new Problem("unsupported_media_type");
  const read = salaryBody.safeParse(parseStrictJson(await readBytes(request, MAX_BODY_BYTES)));
  if (!read.success) throw new Problem("invalid_body", { errors: issuesOf(read.error) });
  return read.data.salary;
};

/** State lives in memory: a restart of the demo begins with the seed again. */
export const createPeopleDirectory = (parts: {
  /** The key that `X-Api-Key` must equal; asked at each request, so a rotated key counts at once. */
  readonly apiKey: () => string | Promise<string>;
  readonly now: () => Date;
  readonly log: Log;
}): PeopleDirectory => {
  const employees = new Map(seedEmployees().map((employee) => [employee.id, employee]));
  const remembered = new Map<string, { readonly asked: string; readonly body: Employee; readonly at: number }>();
  let requests = 0;
  let changes = 0;

  const requireKey = async (request: Request): Promise<void> => {
    const given = request.headers.get("x-api-key");
    if (given !== null && timingSafeEqual(digest(given), digest(await parts.apiKey()))) return;
    throw new Problem("unauthenticated", {
      detail: "Send the API key in X-Api-Key.",
      headers: { "www-authenticate": 'ApiKey realm="people.demo"' },
    });
  };

  const requireEmployee = (id: string): Employee => {
    const employee = employees.get(id);
    if (employee === undefined) throw new Problem("not_found", { detail: "There is no such employee." });
    return employee;
  };

  const list = (url: URL): { items: readonly Employee[]; next: string | null } => {
    const query = parseQuery(url);
    const wanted = query.dept?.toLowerCase();
    const ordered = [...employees.values()].sort(newestFirst);
    const start = query.after === undefined ? 0 : ordered.findIndex((employee) => cursorOf(employee) === query.after) + 1;
    if (query.after !== undefined && start === 0) throw new Problem("invalid_cursor");
    const rest = ordered.slice(start).filter((employee) => wanted === undefined || employee.department.toLowerCase() === wanted);
    const items = rest.slice(0, query.limit);
    const last = items.at(-1);
    return { items, next: rest.length > items.length && last !== undefined ? cursorOf(last) : null };
  };

  const forget = (now: number): void => {
    for (const [key, held] of remembered) {
      if (remembered.size < MAX_REMEMBERED && now - held.at < REMEMBER_MS) return;
      remembered.delete(key);
    }
  };

  /** From the look at the key to the kept answer nothing awaits, so two equal calls at once have one effect. */
  const change = (id: string, salary: number, key: string | null): { body: Employee; replayed: boolean } => {
    const now = parts.now().getTime();
    const asked = `${id} ${salary}`;
    forget(now);
    const held = key === null ? undefined : remembered.get(key);
    if (held !== undefined) {
      if (held.asked !== asked) throw new Problem("idempotency_conflict", { detail: "The key was used with another employee or salary." });
      return { body: held.body, replayed: true };
    }
    const body = { ...requireEmployee(id), salary };
    employees.set(id, body);
    changes++;
    if (key !== null) remembered.set(key, { asked, body, at: now });
    return { body, replayed: false };
  };

  const answer = async (request: Request, correlationId: string): Promise<Response> => {
    const url = new URL(request.url);
    const one = /^\/api\/employees\/([^/]+)$/.exec(url.pathname)?.[1];
    if (one === undefined && url.pathname !== "/api/employees") throw new Problem("not_found");
    await requireKey(request);
    const allowed = one === undefined ? ["GET"] : ["GET", "PATCH"];
    if (!allowed.includes(request.method)) throw new Problem("method_not_allowed", { headers: { allow: allowed.join(", ") } });
    if (one === undefined) return reply(200, list(url), correlationId);
    if (request.method === "GET") return reply(200, requireEmployee(one), correlationId);
    const key = request.headers.get("idempotency-key");
    if (key !== null && !idempotencyKey.test(key)) {
      throw new Problem("invalid_request", {
        errors: [{ path: "header.idempotency-key", message: "must be 1 to 255 visible ASCII characters" }],
      });
    }
    const changed = change(one, await parseSalary(request), key);
    return reply(200, changed.body, correlationId, changed.replayed ? { "idempotent-replayed": "true" } : {});
  };

  const fetch = async (request: Request): Promise<Response> => {
    requests++;
    const correlationId = correlationIdOf(request.headers.get("x-correlation-id"));
    let response: Response;
    try {
      response = await answer(request, correlationId);
    } catch (error) {
      response = problemResponse(asProblem(error), correlationId);
    }
    parts.log.debug("demo_people_request", { method: request.method, status: response.status, correlation_id: correlationId });
    return response;
  };

  return {
    fetch,
    listen: (options) => listenService(fetch, { port: options.port, hosts: options.host === undefined ? loopbackHosts : [options.host] }),
    get requests() {
      return requests;
    },
    get changes() {
      return changes;
    },
  };
};
