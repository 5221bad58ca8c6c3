import type { Plugin } from "vite";

/**
 * The page runs without any right to make code out of text. zod brings a compiler that would; it is switched off at
 * run time, and here its source is taken out, so that the finished files can be searched for what must not be there.
 */

const replacements: readonly { readonly file: string; readonly from: string; readonly to: string }[] = [
  { file: "/zod/v4/core/doc.js", from: "const F = Function;", to: 'throw new Error("no code from text");' },
  { file: "/zod/v4/core/doc.js", from: "new F(", to: "((..._text) => () => undefined)(" },
  { file: "/zod/v4/core/util.js", from: "const F = Function;", to: "return false;" },
  { file: "/zod/v4/core/util.js", from: 'new F("");', to: "" },
];

export const withoutCompiler = (): Plugin => ({
  name: "sallyport:without-compiler",
  enforce: "pre",
  transform(code, id) {
    const path = id.replaceAll("\\", "/").split("?")[0] ?? "";
    const wanted = replacements.filter((row) => path.endsWith(row.file));
    if (wanted.length === 0) return undefined;
    let changed = code;
    for (const row of wanted) {
      if (!changed.includes(row.from)) this.error(`${row.file} no longer holds "${row.from}"; look at how it makes code now.`);
      changed = changed.replace(row.from, row.to);
    }
    return { code: changed, map: null };
  },
});

const forbidden: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  { name: "new Function", pattern: /\bnew\s+Function\b/ },
  { name: "Function under another name", pattern: /[=(,:]\s*(?:globalThis\.|window\.)?Function\s*[;,)\n]/ },
  { name: "eval(", pattern: /(?<![\w$.])eval\s*\)?\s*\(/ },
  { name: "a validator that compiles (ajv)", pattern: /\bajv\b/i },
  { name: "import of a third origin", pattern: /\bimport\s*\(\s*["'`]https?:/ },
];

/** What a finished file holds that the page's policy forbids; empty = nothing. Only the code counts, not quoted text. */
export const findForbidden = (code: string): readonly string[] => forbidden.filter((row) => row.pattern.test(code)).map((row) => row.name);

/** Fails the build on it. */
export const refuseEval = (): Plugin => ({
  name: "sallyport:refuse-eval",
  generateBundle(_options, bundle) {
    for (const [file, part] of Object.entries(bundle)) {
      if (part.type !== "chunk") continue;
      const found = findForbidden(part.code);
      if (found.length > 0) this.error(`${file} holds ${found.join(", ")}`);
    }
  },
});
