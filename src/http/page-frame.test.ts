import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { pageFrame, pageStyle } from "./page-frame.ts";

const theme = async (name: string): Promise<string> => readFile(new URL(`../../web/src/theme/${name}`, import.meta.url), "utf8");
const colours = (text: string): ReadonlySet<string> =>
  new Set(text.match(/#[0-9a-f]{3,8}\b/gi)?.map((colour) => colour.toLowerCase()) ?? []);
/** The values of a scheme's properties, by name. */
const propertiesOf = (css: string, from: RegExp): ReadonlyMap<string, string> => {
  const [, block = ""] = from.exec(css) ?? [];
  return new Map(
    [...block.matchAll(/--([a-z-]+):\s*(#[0-9a-f]{6})/g)].map(([, name = "", value = ""]) => [name.replace(/^sp-/, ""), value]),
  );
};

test("pages without the web client have its colours, by light and by dark, and none of their own", async () => {
  const page = pageFrame("Sign in", "<h1>Sign in</h1>");
  const [tokens, script] = await Promise.all([theme("tokens.css"), theme("theme.ts")]);
  const known = new Set([...colours(tokens), ...colours(script)]);
  assert.deepEqual(
    [...colours(page)].filter((colour) => !known.has(colour)),
    [],
  );
  const schemes = [
    [/"light"\]\s*\{([^}]*)\}/, /:root\{([^}]*)\}/],
    [/:root\[data-mantine-color-scheme="dark"\]\s*\{([^}]*)\}/, /dark\)\{:root\{([^}]*)\}/],
  ] as const;
  for (const [inClient, inPage] of schemes) {
    const [client, own] = [propertiesOf(tokens, inClient), propertiesOf(page, inPage)];
    for (const [name, ours] of [
      ["page", "page"],
      ["ground", "ground"],
      ["line", "line"],
      ["line-strong", "edge"],
      ["text", "ink"],
      ["dim", "soft"],
      ["link", "accent"],
      ["deny", "deny"],
      ["deny-ground", "deny-ground"],
    ] as const)
      assert.equal(own.get(ours), client.get(name) ?? "there is none", `${name} ${String(inPage)}`);
  }
});

test("the policy's digest is that of the style on the page, and a title of others is text", () => {
  const page = pageFrame(`<img src=x onerror=alert(1)> & "you"`, "");
  const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
  assert.equal(pageStyle, `'sha256-${createHash("sha256").update(style).digest("base64")}'`);
  assert.ok(page.includes("<title>&lt;img src=x onerror=alert(1)&gt; &amp; &quot;you&quot; · Sallyport</title>"));
});
