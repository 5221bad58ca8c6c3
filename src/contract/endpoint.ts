import type { z } from "zod";
import type { ProblemCode } from "./problem.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Which service of Sallyport serves it. */
export type ServiceName = "gateway" | "pdp" | "crud" | "membership" | "secrets";

/**
 * Who may call: `none` anybody; `bearer` a valid access token for this service; `session` a browser session at the
 * gateway (the gateway's own endpoints; unsafe methods also need the CSRF headers).
 */
export type Auth = "none" | "bearer" | "session" | "session+bearer";

/**
 * What a token that names an agent gets, of what the person's own would: `never` nothing, a person is there in person; `own` what that
 * agent took part in, while a delegation from the person to it lives; `decided` what is decided for the two of them together.
 */
export type Agents = "never" | "own" | "decided";

/** Whoever may come with a token must say what an agent's token gets. */
type Entry =
  | { readonly auth: "none" | "session"; readonly agents?: never }
  | { readonly auth: "bearer" | "session+bearer"; readonly agents: Agents };

export interface EndpointShape<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  /** Path parameters (`{name}` in the path). */
  readonly params?: Params;
  /** Query parameters; strict: an unknown one is refused. Values arrive as text: numbers are `queryInteger`. */
  readonly query?: Query;
  /** Query parameters that may be given several times: each arrives as a list. */
  readonly repeated?: readonly string[];
  /** JSON body. */
  readonly body?: Body;
  /** The handler reads the body itself and answers its issues as its own protocol does (JSON-RPC): with the reply's form and one of these statuses. */
  readonly ownBody?: { readonly statuses: readonly number[] };
  /** The body is a text of one of these media types, which the handler reads itself; beside no `body`. */
  readonly textBody?: readonly string[];
  /** Request headers that it reads beside those of the credential, by name; one that may be left out is optional. */
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  /** Most members and items of the body together, where 10,000 are too few. */
  readonly maxMembers?: number;
  /** Numbers of the body that no double holds reach the handler as their texts (`exact-numbers.ts`); else they are refused. */
  readonly keepsDigits?: true;
  readonly reply: Reply;
  /** Status of success; 200 unless said. */
  readonly status?: number;
  /** Further statuses that come with the reply; 304 comes without. */
  readonly moreStatuses?: readonly number[];
  /** Further media types of the reply, for who asks for them. */
  readonly moreMedia?: readonly string[];
  /** Codes beyond those that every endpoint may answer (`endpoint-problems.ts`). */
  readonly problems?: readonly ProblemCode[];
  /** Codes that it answers as a conflict (409), whatever their own status. */
  readonly conflicts?: readonly ProblemCode[];
  /** Codes that it answers as a limit of the caller (429), whatever their own status. */
  readonly limits?: readonly ProblemCode[];
  readonly auth: Auth;
  readonly agents?: Agents;
  /** One of these scopes is needed; empty or absent = none beyond a valid credential. */
  readonly scope?: readonly string[];
  /** `resource/action` pair that the service asks the decision point for, if it asks one. */
  readonly decision?: string;
  /** What it does, in one sentence, for the reference. */
  readonly summary: string;
}

/** A shape without behaviour: what is said, by whom, and what may come back. */
export interface Endpoint<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> extends EndpointShape<Params, Query, Body, Reply> {
  readonly service: ServiceName;
  readonly method: Method;
  readonly path: string;
}

export const endpoint = <
  const Service extends ServiceName,
  const By extends Method,
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Reply extends z.ZodType = z.ZodType,
>(
  service: Service,
  method: By,
  path: string,
  shape: EndpointShape<Params, Query, Body, Reply> & Entry,
): Endpoint<Params, Query, Body, Reply> & { readonly service: Service; readonly method: By } => ({ service, method, path, ...shape });

/**
 * Who may call most endpoints: whoever has a token that is no agent's, with one of these scopes, where any is named; the service then
 * asks for the `resource/action` pair of `decision`.
 */
export const withoutAgents = <By extends { readonly scope?: readonly string[]; readonly decision?: string }>(by?: By) =>
  ({ auth: "bearer", agents: "never", ...by }) as const;

export type ParamsOf<E> = E extends Endpoint<infer P, z.ZodType, z.ZodType, z.ZodType> ? z.output<P> : never;
export type QueryOf<E> = E extends Endpoint<z.ZodType, infer Q, z.ZodType, z.ZodType> ? z.output<Q> : never;
export type BodyOf<E> = E extends Endpoint<z.ZodType, z.ZodType, infer B, z.ZodType> ? z.output<B> : never;
export type ReplyOf<E> = E extends Endpoint<z.ZodType, z.ZodType, z.ZodType, infer R> ? z.output<R> : never;
export type SentParams<E> = E extends Endpoint<infer P, z.ZodType, z.ZodType, z.ZodType> ? z.input<P> : never;
export type SentQuery<E> = E extends Endpoint<z.ZodType, infer Q, z.ZodType, z.ZodType> ? z.input<Q> : never;
export type SentBody<E> = E extends Endpoint<z.ZodType, z.ZodType, infer B, z.ZodType> ? z.input<B> : never;
