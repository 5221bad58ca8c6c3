import type * as library from "oidc-provider";

type Library = typeof library;

/**
 * Loads oidc-provider. Its module says "Unsupported runtime" on every Node that is not yet a long-term release, ours
 * included; it is tested on this one, so that single line is kept from Sallyport's first screen. Nothing else is held back.
 */
export const loadProviderLibrary = async (): Promise<Library> => {
  // oxlint-disable-next-line no-console -- the library writes there; see above
  const warn = console.warn;
  const passing = (...words: unknown[]): void => {
    if (!String(words[0]).includes("Unsupported runtime")) warn(...words);
  };
  // oxlint-disable-next-line no-console
  console.warn = passing;
  try {
    return await import("oidc-provider");
  } finally {
    // oxlint-disable-next-line no-console
    if (console.warn === passing) console.warn = warn;
  }
};
