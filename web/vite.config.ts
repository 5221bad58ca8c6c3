import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { noncePlaceholder, withoutNonceMeta } from "./build/nonce-placeholder.ts";
import { refuseEval, withoutCompiler } from "./build/refuse-eval.ts";

/** There is no development server: the page is only ever served by the gateway, with its real headers. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  publicDir: false,
  html: { cspNonce: noncePlaceholder },
  plugins: [withoutCompiler(), react(), refuseEval(), withoutNonceMeta()],
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
