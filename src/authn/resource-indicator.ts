const PREFIX = "urn:sallyport:audience:";

/** An audience as RFC 8707 names a resource: an absolute URI. One that is none is put into a name of ours, which the embedded issuer reads. */
export const resourceOf = (audience: string): string =>
  URL.canParse(audience) && !audience.includes("#") ? audience : `${PREFIX}${encodeURIComponent(audience)}`;

/** The audience that a resource stands for. */
export const audienceOfResource = (resource: string): string =>
  resource.startsWith(PREFIX) ? decodeURIComponent(resource.slice(PREFIX.length)) : resource;
