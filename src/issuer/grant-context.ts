import type { TokenEndpointGrantContext, UnknownObject } from "oidc-provider";

/** A request at the token endpoint after its client has proved itself. */
export type GrantContext = TokenEndpointGrantContext<UnknownObject>;

/** Every value of a form field; the library gives one as text and several as a list. */
export const valuesOf = (ctx: GrantContext, name: string): readonly string[] => {
  const value = ctx.oidc.params[name];
  if (Array.isArray(value)) return value.filter((item): item is string => typeof item === "string");
  return typeof value === "string" ? [value] : [];
};

export const valueOf = (ctx: GrantContext, name: string): string | undefined => valuesOf(ctx, name)[0];
