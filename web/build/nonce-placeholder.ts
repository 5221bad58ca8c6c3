import type { Plugin } from "vite";

/** The gateway puts a fresh nonce in its place with every answer. */
export const noncePlaceholder = "__CSP_NONCE__";

/** Vite also writes the nonce into a `meta` element, where scripts and stylesheets could read it: taken out. */
export const withoutNonceMeta = (): Plugin => ({
  name: "sallyport:without-nonce-meta",
  transformIndexHtml: {
    order: "post",
    handler: (html) => html.replace(/\s*<meta property="csp-nonce"[^>]*>/, ""),
  },
});
