import type { Endpoint, ServiceName } from "#contract/endpoint.ts";

/**
 * One request to an endpoint, as data. Texts may hold marks in braces, which the test fills: `{fresh}` is another UUID each
 * time. An array as body is sent as NDJSON.
 */
export interface Asked {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the tests that walk all endpoints cannot derive from the shape of one. */
export interface Probe {
  /** Body or query, where the least that its form takes is refused. */
  readonly sample?: Readonly<Record<string, unknown>>;
  /** GET: who of the demo reads it, and what. Marks: the keys of `makeOne` in `e2e/readable.test.ts`. */
  readonly read?: Asked & { readonly as?: "ada" | "ben" | "cleo" };
  /** GET: why nobody of the demo reads it. */
  readonly unread?: string;
  /** It documents `Idempotency-Key`: two bodies, and the caller where it is not the usual one. */
  readonly repeat?: Asked & { readonly as?: string; readonly conflict?: string; readonly bodies: readonly [unknown, unknown] };
  /** What an agent's token gets, beside `agents` of the endpoint, and what is sent with it. */
  readonly agent?: Asked & { readonly gets?: "own" | "decided" };
}

interface MembershipProbe extends Probe {
  /** Each place where an id can stand: `{id}`. The first one is also asked about `whom`. */
  readonly about: readonly Asked[];
  /** An id that is there, where `aboutWhom` of `src/membership/endpoint-decisions.test.ts` does not fit. */
  readonly whom?: string;
  /** What a plain member is refused; `access_denied` unless `reported` names another code. Marks: `Ground` of `e2e/own-writers.test.ts`. */
  readonly attempts?: readonly (Asked & { readonly reported?: string })[];
}

type ProbeOf<Shape> = Shape extends { readonly service: "membership" }
  ? Shape extends { readonly method: "GET" }
    ? MembershipProbe
    : MembershipProbe & Required<Pick<MembershipProbe, "attempts">>
  : Probe;

type EndpointIn<Topic> = keyof { [Name in keyof Topic as Topic[Name] extends { readonly service: ServiceName } ? Name : never]: never };

/** A probe for each endpoint that a file of the contract declares. */
export type Probes<Topic> = { readonly [Name in EndpointIn<Topic> & keyof Topic]: ProbeOf<Topic[Name]> };

export type AnyProbe = Probe & Partial<MembershipProbe>;

const fill = <Value>(value: Value, marks: Readonly<Record<string, string>>): Value =>
  JSON.parse(JSON.stringify(value), (_name, one: unknown) =>
    typeof one === "string" ? one.replaceAll(/\{(\w+)\}/g, (whole, mark: string) => marks[mark] ?? whole) : one,
  ) as Value;

export interface ProbeRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export const requestOf = (
  { path, headers: known = {} }: Pick<Endpoint, "path" | "headers">,
  asked: Asked,
  marks: Readonly<Record<string, string>> = {},
): ProbeRequest => {
  const { params = {}, query = {}, body, headers } = fill(asked, { fresh: crypto.randomUUID(), ...marks });
  const search = new URLSearchParams(query).toString();
  const place = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(params[name] ?? "nobody-at-all"));
  return {
    path: search === "" ? place : `${place}?${search}`,
    headers: { ...("Idempotency-Key" in known ? { "idempotency-key": crypto.randomUUID() } : {}), ...headers },
    ...(body === undefined ? {} : { body: Array.isArray(body) ? body.map((line) => `${JSON.stringify(line)}\n`).join("") : body }),
  };
};
