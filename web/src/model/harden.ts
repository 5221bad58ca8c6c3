import { setNonce } from "get-nonce";
import { z } from "zod";

/**
 * Imported before anything else that draws or parses. The page runs under a policy that lets no text become code:
 * schemas are interpreted, never compiled; markup made from text is refused by the only Trusted Types policy there is;
 * style elements carry the nonce that the gateway gave this answer.
 */

z.config({ jitless: true });

interface TrustedTypesLike {
  createPolicy(name: string, rules: Readonly<Record<string, (text: string) => string>>): unknown;
}

const trustedTypes = (globalThis as { trustedTypes?: TrustedTypesLike }).trustedTypes;

trustedTypes?.createPolicy("default", {
  createHTML: (text) => {
    if (text.includes("<")) throw new TypeError("markup from text is refused");
    return text;
  },
  createScriptURL: (text) => {
    if (new URL(text, location.href).origin !== location.origin) throw new TypeError("scripts of another origin are refused");
    return text;
  },
  createScript: () => {
    throw new TypeError("code from text is refused");
  },
});

const nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "";
setNonce(nonce);

/** The nonce of this answer, for the style elements of the component library. */
export const styleNonce = (): string => nonce;
