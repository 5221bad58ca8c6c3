import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { findForbidden } from "../web/build/refuse-eval.ts";
import { buildWebIfNeeded } from "./build-web.ts";

for (const code of [
  'new Function("return 1")()',
  "new  Function(a)",
  'const F = Function; new F("")',
  'let f=globalThis.Function;f("x")',
  'run(Function,"x")',
  'eval("1")',
  "(0,eval) (x)",
  'import Ajv from "ajv"',
  'import("https://cdn.example/x.js")',
])
  test(`the build refuses ${code}`, () => assert.notDeepEqual(findForbidden(code), []));

for (const code of [
  "a.prototype instanceof Object",
  "retrieval(x)",
  "medieval (x)",
  "x.eval(y)",
  "function f() {}",
  "typeof x===`function`",
  'import("./x.js")',
])
  test(`the build lets ${code} pass`, () => assert.deepEqual(findForbidden(code), []));

test("what was built holds no code made of text, one nonce placeholder a tag, compressed twins and no map", async () => {
  const { folder } = await buildWebIfNeeded();
  const names = await readdir(join(folder, "assets"));
  const scripts = names.filter((name) => name.endsWith(".js"));
  assert.ok(scripts.length > 5);
  for (const name of scripts) assert.deepEqual(findForbidden(await readFile(join(folder, "assets", name), "utf8")), [], name);
  const page = await readFile(join(folder, "index.html"), "utf8");
  assert.ok((page.match(/<script[^>]*>/g) ?? []).every((tag) => tag.includes('nonce="__CSP_NONCE__"') && tag.includes("src=")));
  assert.equal(/<meta[^>]*nonce/.test(page), false);
  assert.equal(/<style|style=|\son\w+=/.test(page), false);
  const entry = /src="\/assets\/([^"]+\.js)"/.exec(page)?.[1] ?? "";
  assert.ok(names.includes(`${entry}.br`) && names.includes(`${entry}.gz`));
  assert.equal(
    names.some((name) => name.endsWith(".map")),
    false,
  );
});

test("nothing is built twice, whoever asks at the same time", async () => {
  const again = await Promise.all([buildWebIfNeeded(), buildWebIfNeeded(), buildWebIfNeeded()]);
  assert.deepEqual(
    again.map((result) => result.wasBuilt),
    [false, false, false],
  );
});
