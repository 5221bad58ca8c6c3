import type { z } from "zod";
import type { ProblemCode } from "./problem.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Which service of the house serves it. */
export type ServiceName = "gateway" | "pdp" | "crud" | "membership" | "secrets";

/**
 * Who may call: `none` anybody; `bearer` a valid access token for this service; `session` a browser session at the
 * gateway (the gateway's own endpoints; unsafe methods also need the CSRF headers).
 */
export type Auth = "none" | "bearer" | "session" | "session+bearer";

export interface EndpointShape<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  /** Path parameters (`{name}` in the path). */
  readonly params?: Params;
  /** Query parameters; strict: an unknown one is refused. Values arrive as text, so use `z.coerce`. */
  readonly query?: Query;
  /** JSON body. */
  readonly body?: Body;
  /** True: the handler reads the body itself and answers its faults in its own protocol's form (JSON-RPC). */
  readonly ownBody?: true;
  readonly reply: Reply;
  /** Status of success; 200 unless said. */
  readonly status?: number;
  /** Codes beyond those that every endpoint may answer. */
  readonly problems?: readonly ProblemCode[];
  readonly auth: Auth;
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
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Reply extends z.ZodType = z.ZodType,
>(
  service: ServiceName,
  method: Method,
  path: string,
  shape: EndpointShape<Params, Query, Body, Reply>,
): Endpoint<Params, Query, Body, Reply> => ({ service, method, path, ...shape });

export type ParamsOf<E> = E extends Endpoint<infer P, z.ZodType, z.ZodType, z.ZodType> ? z.output<P> : never;
export type QueryOf<E> = E extends Endpoint<z.ZodType, infer Q, z.ZodType, z.ZodType> ? z.output<Q> : never;
export type BodyOf<E> = E extends Endpoint<z.ZodType, z.ZodType, infer B, z.ZodType> ? z.output<B> : never;
export type ReplyOf<E> = E extends Endpoint<z.ZodType, z.ZodType, z.ZodType, infer R> ? z.output<R> : never;
export type SentParams<E> = E extends Endpoint<infer P, z.ZodType, z.ZodType, z.ZodType> ? z.input<P> : never;
export type SentQuery<E> = E extends Endpoint<z.ZodType, infer Q, z.ZodType, z.ZodType> ? z.input<Q> : never;
export type SentBody<E> = E extends Endpoint<z.ZodType, z.ZodType, infer B, z.ZodType> ? z.input<B> : never;
