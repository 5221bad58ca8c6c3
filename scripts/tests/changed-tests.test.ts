import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { allTests, changedFiles, testsReaching } from "./changed-tests.ts";

const project = (t: TestContext): { readonly root: string; readonly write: (path: string, text: string) => void } => {
  const root = mkdtempSync(join(tmpdir(), "sallyport-changed-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("package.json", JSON.stringify({ imports: { "#a/*": "./src/a/*", "#b/*": "./src/b/*" } }));
  write("src/a/deep.ts", "export const deep = 1;\n");
  write("src/a/middle.ts", 'import { deep } from "./deep.ts";\nexport const middle = deep;\n');
  write("src/a/deep.test.ts", 'import { deep } from "./deep.ts";\n');
  write("src/b/far.ts", 'export const far = async () => import("#a/middle.ts");\n');
  write("src/b/far.test.ts", 'import type { far } from "./far.ts";\n');
  write("src/b/apart.test.ts", 'const folder = "rules/";\n');
  write("src/b/rules/one.cedar", "permit;\n");
  return { root, write };
};

for (const [changed, expected] of [
  [["src/a/deep.ts"], ["src/a/deep.test.ts 1", "src/b/far.test.ts 3"]],
  [["src/b/far.ts"], ["src/b/far.test.ts 1"]],
  [["src/b/far.test.ts"], ["src/b/far.test.ts 0"]],
  [["src/b/rules/one.cedar"], ["src/b/apart.test.ts 0"]],
  [
    ["src/a/deep.ts", "src/b/far.ts"],
    ["src/a/deep.test.ts 1", "src/b/far.test.ts 1"],
  ],
  [["README.md"], []],
] as const)
  test(`a change of ${changed.join(" and ")} reaches ${expected.join(", ") || "no test"}`, (t) => {
    const { root } = project(t);
    const found = testsReaching(root, allTests(root, ["src"]), changed);
    assert.deepEqual(
      found.map(({ test: path, hops }) => `${path} ${hops}`),
      expected,
    );
  });

test("what changed is what differs from the revision, new files too, removed ones not", (t) => {
  const { root, write } = project(t);
  const git = (...words: string[]): void =>
    void execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.org", ...words], { cwd: root });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "first");
  assert.deepEqual(changedFiles(root, "HEAD"), []);
  write("src/a/deep.ts", "export const deep = 2;\n");
  write("src/a/new file.ts", "export {};\n");
  rmSync(join(root, "src/b/far.ts"));
  assert.deepEqual(changedFiles(root, "HEAD").toSorted(), ["src/a/deep.ts", "src/a/new file.ts"]);
});
