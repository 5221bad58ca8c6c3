const PREFIX = "urn:sallyport:audience:";

/** An audience as RFC 8707 names a resource: an absolute URI. One that is none is put into a name of ours, which the embedded issuer reads. */
export const resourceOf = (audience: string): string =>
  URL.canParse(audience) && !audience.includes("#") ? audience : `${PREFIX}${encodeURIComponent(audience)}`;

/** The audience that a resource stands for. */
export const audienceOfResource = (resource: string): string =>
  resource.startsWith(PREFIX) ? decodeURIComponent(resource.slice(PREFIX.length)) : resource;

const VIEW = "[a-z][a-z0-9-]{0,63}";
const isView = new RegExp(`^${VIEW}$`);

/**
 * Whether a resource is of Sallyport: one of its audiences, or below one that is the tool protocol's (`<base>/mcp`) a view of it, in the
 * one spelling that a view has. Which views there are is not known here.
 */
export const isInternalAudience = (audiences: readonly string[], resource: string): boolean =>
  audiences.includes(resource) ||
  audiences.some(
    (audience) => audience.endsWith("/mcp") && resource.startsWith(`${audience}/`) && isView.test(resource.slice(audience.length + 1)),
  );

const inView = new RegExp(`^(/mcp/(?!jsonrpc$)${VIEW})(?:/jsonrpc|/tools/list)?$`);

/** Of a path of the tool protocol that of its view, for which a token may be alone; `undefined` where it is about all tools. */
export const viewPathOf = (path: string): string | undefined => inView.exec(path)?.[1];
