import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { noncePlaceholder, withoutNonceMeta } from "./build/nonce-placeholder.ts";
import { oneShell } from "./build/one-shell.ts";
import { refuseEval, withoutCompiler } from "./build/refuse-eval.ts";

const ours = (file: string): string => join(import.meta.dirname, "src", "forms", file);

/** There is no development server: the page is only ever served by the gateway, with its real headers. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  publicDir: false,
  html: { cspNonce: noncePlaceholder },
  // Parts of rjsf that make code of schemas and markup of texts.
  resolve: { alias: { "@rjsf/validator-ajv8": ours("rjsf-validator.ts"), "markdown-to-jsx/react": ours("plain-markdown.tsx") } },
  plugins: [withoutCompiler(), react(), oneShell(), refuseEval(), withoutNonceMeta()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    manifest: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2_000,
  },
});
