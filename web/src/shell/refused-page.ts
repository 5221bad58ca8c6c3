/** The address that the browser loaded, and the decision by which the gateway refused it. */
const loaded = {
  path: location.pathname,
  decisionId: document.querySelector<HTMLMetaElement>('meta[name="sallyport-refused-by"]')?.content,
};

/** The gateway's own refusal of this address, if it is the page that was loaded: the decision that its headers name. */
export const refusedByGateway = (path: string): string | undefined => (path === loaded.path ? loaded.decisionId : undefined);

/** The page has been opened since: what is refused later is refused by another decision. */
export const forgetRefusal = (path: string): void => {
  if (path === loaded.path) loaded.decisionId = undefined;
};
