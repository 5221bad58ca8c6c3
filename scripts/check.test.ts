import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { runStep, steps, type Outcome, type Step } from "./checks/steps.ts";

const root = join(import.meta.dirname, "..");

/** A project with our own configuration of every tool, and these files only. */
const project = (t: TestContext, files: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-check-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const name of ["tsconfig.json", "oxlint.config.ts", "scripts/checks/import-table.ts", ".oxfmtrc.json", "knip.json"])
    cpSync(join(root, name), join(folder, name));
  const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { imports: unknown };
  const all = {
    "package.json": `${JSON.stringify({ name: "fixture", private: true, type: "module", imports }, undefined, 2)}\n`,
    "src/main.ts": "export {};\n",
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
};

const stepOf = (name: Step["name"]): Step => {
  const step = steps.find((one) => one.name === name);
  assert.ok(step);
  return step;
};
const run = (name: Step["name"], folder: string): Promise<Outcome> => runStep(stepOf(name), folder);

const assertFails = (outcome: Outcome, said: RegExp): void => {
  assert.equal(outcome.passed, false, outcome.output);
  assert.match(outcome.output, said);
};

suite("npm run check", () => {
  test("code without issue passes format, lint, types and unused", async (t) => {
    const folder = project(t, {
      "src/main.ts": 'import { used } from "./used.ts";\n\nawait used();\n',
      "src/used.ts": "export const used = async (): Promise<number> => 1;\n",
    });
    for (const name of ["format", "lint", "types", "unused"] as const) {
      const outcome = await run(name, folder);
      assert.equal(outcome.passed, true, `${name}: ${outcome.output}`);
    }
  });

  test("fails on a floating promise, in a test file too, but not on the call of test itself", async (t) => {
    const act = "const act = async (): Promise<void> => {};\n";
    assertFails(await run("lint", project(t, { "src/secrets/floating.ts": `${act}act();\n` })), /no-floating-promises/);
    const inTest = `import { test } from "node:test";\n${act}test("acts", () => {\n  act();\n});\n`;
    const outcome = await run("lint", project(t, { "src/secrets/floating.test.ts": inTest }));
    assertFails(outcome, /no-floating-promises/);
    assert.equal(outcome.output.match(/no-floating-promises/g)?.length, 1);
  });

  const imports: readonly (readonly [from: string, what: string])[] = [
    ["src/contract/a.ts", "node:fs"],
    ["src/contract/a.ts", "#http/serve.ts"],
    ["src/telemetry/a.ts", "#http/serve.ts"],
    ["src/store/a.ts", "#events/changes/change.ts"],
    ["src/http/a.ts", "#store/database.ts"],
    ["src/events/a.ts", "#authn/model/caller.ts"],
    ["src/authn/a.ts", "#pdp/decide.ts"],
    ["src/pdp/a.ts", "#membership/service.ts"],
    ["src/gateway/a.ts", "#crud/service.ts"],
    ["src/crud/a.ts", "#secrets/service.ts"],
    ["src/crud/deep/a.ts", "#secrets/deep/service.ts"],
    ["src/membership/a.ts", "#gateway/service.ts"],
    ["src/secrets/a.ts", "#crud/service.ts"],
    ["src/secrets/a.ts", "../crud/service.ts"],
    ["src/secrets/a.ts", "#testing/secrets.ts"],
    ["src/demo/a.ts", "#pdp/service.ts"],
    ["src/app/model/a.ts", "#testing/secrets.ts"],
    ["src/app/model/a.ts", "#app/start/start-plan.ts"],
    ["src/crud/tools/a.ts", "#crud/mcp/call/call-tool.ts"],
    ["src/crud/mcp/call/steps/a.ts", "#crud/service.ts"],
    ["src/events/model/a.ts", "#events/changes/change.ts"],
    ["src/pdp/engine/a.ts", "#pdp/decision/cedar.ts"],
    ["src/secrets/providers/a.ts", "./kinds/provider-kinds.ts"],
    ["web/src/a.ts", "#http/serve.ts"],
    ["web/src/ui/a.ts", "../api/queries.ts"],
    ["web/src/pages/tools/a.ts", "../systems/system-page.tsx"],
  ];
  test("fails on each import that the table of modules forbids", async (t) => {
    const files = Object.fromEntries(imports.map(([from, what], index) => [from.replace("a.ts", `a${index}.ts`), `import "${what}";\n`]));
    const { output, passed } = await run("lint", project(t, files));
    assert.equal(passed, false);
    for (const [from, what] of imports) {
      const file = from.replace("a.ts", `a${imports.findIndex((one) => one[0] === from && one[1] === what)}.ts`);
      assert.ok(output.includes(file), `${from} may not import ${what}\n${output}`);
    }
    assert.equal(output.match(/no-restricted-imports/g)?.length, imports.length);
  });

  test("fails on an unused file, an unused export and an unused dependency", async (t) => {
    assertFails(
      await run("unused", project(t, { "src/secrets/orphan.ts": "export const orphan = 1;\n" })),
      /Unused files[\s\S]*src\/secrets\/orphan\.ts/,
    );
    const half = project(t, {
      "src/main.ts": 'import { used } from "./used.ts";\n\nawait used();\n',
      "src/used.ts": "export const used = async (): Promise<number> => 1;\nexport const unused = 2;\n",
      "package.json": JSON.stringify({ name: "fixture", private: true, type: "module", dependencies: { zod: "4.6.7" } }),
    });
    const outcome = await run("unused", half);
    assertFails(outcome, /Unused exports[\s\S]*unused/);
    assert.match(outcome.output, /Unused dependencies[\s\S]*zod/);
  });

  test("fails on a wrong type and on code that is not formatted", async (t) => {
    const folder = project(t, { "src/wrong.ts": 'export const wrong: number = "text"\n' });
    assertFails(await run("types", folder), /TS2322/);
    assertFails(await run("format", folder), /src\/wrong\.ts/);
  });

  test("fails on a long line, a long cell and a link that leads nowhere", async (t) => {
    const long = "long ".repeat(25);
    const folder = project(t, { "docs/there.md": "# There\n\n## A heading\n" });
    cpSync(join(root, "scripts"), join(folder, "scripts"), { recursive: true });
    cpSync(join(root, ".markdownlint.json"), join(folder, ".markdownlint.json"));
    const rows: readonly (readonly [text: string, found: RegExp | undefined])[] = [
      ["[a heading](there.md#a-heading) of [that page](there.md)", undefined],
      [`| a | b |\n|---|---|\n| ${"x".repeat(100)} | ${"y".repeat(120)} |`, undefined],
      [long, /page\.md:3 MD013/],
      [`| a | b |\n|---|---|\n| a | ${long} |`, /page\.md:5 cell-length .*It holds 124/],
      ["[nowhere](nowhere.md)", /page\.md:3 relative-link .*docs\/nowhere\.md/],
      ["[no heading](there.md#nothing)", /page\.md:3 relative-link .*no heading #nothing/],
      ["[outside](../../outside.md)", /page\.md:3 relative-link/],
    ];
    for (const [text, found] of rows) {
      writeFileSync(join(folder, "docs/page.md"), `# Page\n\n${text}\n`);
      const outcome = await run("markdown", folder);
      if (found === undefined) assert.equal(outcome.passed, true, outcome.output);
      else assertFails(outcome, found);
    }
  });

  test("fails on a changed contract or setting until the docs are made again", async (t) => {
    const folder = project(t, {});
    for (const name of ["src", "scripts"])
      cpSync(join(root, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
    const make: Step = { ...stepOf("docs"), arguments: [] };
    assertFails(await run("docs", folder), /run npm run docs/);
    assert.equal((await runStep(make, folder)).passed, true);
    assert.equal((await run("docs", folder)).passed, true);
    const changes: readonly (readonly [file: string, from: string, to: string, doc: RegExp])[] = [
      [
        "src/contract/secrets.ts",
        "Create (201) or update (200) a secret.",
        "Create (201) or change (200) a secret.",
        /openapi\/secrets\.json/,
      ],
      ["src/contract/problem.ts", '"The value has the wrong shape"', '"The value has another shape"', /openapi\/secrets\.json/],
      ["src/secrets/config.ts", "Name of TENANT_SALT inside the references.", "Name of the salt.", /configuration\.md/],
    ];
    for (const [file, from, to, doc] of changes) {
      const text = readFileSync(join(folder, file), "utf8");
      assert.ok(text.includes(from), `${file} says ${from}`);
      writeFileSync(join(folder, file), text.replace(from, to));
      assertFails(await run("docs", folder), doc);
      assert.equal((await runStep(make, folder)).passed, true);
    }
    assert.equal((await run("docs", folder)).passed, true);
    writeFileSync(join(folder, "docs/reference/openapi/stray.json"), "{}");
    assertFails(await run("docs", folder), /stray\.json/);
  });
});
