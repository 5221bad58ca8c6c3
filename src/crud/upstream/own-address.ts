/** Where an upstream leads on its own: the same scheme, host and port, and no user. `undefined`: elsewhere, or nowhere. */
export const ownAddress = (given: string, from: URL): URL | undefined => {
  const found = URL.parse(given, from.href);
  return found === null || found.origin !== from.origin || found.username !== "" || found.password !== "" ? undefined : found;
};
