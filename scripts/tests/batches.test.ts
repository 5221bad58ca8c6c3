import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "../../e2e/run-script.ts";
import { batchesOf, entryOf, isAlone } from "./batches.ts";

const named = (module: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_none, at) => `src/${module}/${at}.test.ts`);

test("neighbours share a process, those of the whole instance do not and are spread among them, and every file runs once", () => {
  const files = [...named("crud", 50), "e2e/story.test.ts", "e2e/kill.test.ts"];
  const batches = batchesOf(files, 2, (file) => isAlone(file, ""));
  assert.deepEqual(
    batches.map(({ length }) => length),
    [20, 1, 20, 1, 10],
  );
  assert.deepEqual(batches.flat().toSorted(), files.toSorted());
});

test("files that share an instance, and those for which WebAssembly is compiled for speed, share a process with no others", () => {
  const files = [...named("http", 7), "e2e/a.test.ts", "e2e/b.test.ts", ...named("crud", 14), ...named("pdp", 17), ...named("secrets", 4)];
  const modules = batchesOf(files, 2, () => false).map((batch) => [batch.length, ...new Set(batch.map((file) => file.split("/").at(-2)))]);
  assert.deepEqual(modules, [
    [2, "e2e"],
    [20, "pdp", "secrets"],
    [1, "secrets"],
    [20, "http", "crud"],
    [1, "crud"],
  ]);
});

test("a file that looks at its whole process says so, and one of the whole instance shares it where it says that", () => {
  assert.equal(isAlone("src/pdp/a.test.ts", 'import "x";\n// A process of its own: it counts threads.\n'), true);
  assert.equal(isAlone("e2e/a.test.ts", 'import { sharedInstance } from "./shared-instance.ts";\n'), false);
  assert.equal(isAlone("e2e/a.test.ts", 'import { startTestInstance } from "./test-instance.ts";\n'), true);
  assert.equal(isAlone("src/pdp/a.test.ts", 'const said = "// A process of its own: ";\n'), false);
});

test("few files are spread over all processes", () => {
  assert.deepEqual(
    batchesOf(named("crud", 5), 3, () => false).map(({ length }) => length),
    [2, 2, 1],
  );
  assert.deepEqual(
    batchesOf([], 3, () => false),
    [],
  );
});

test("a file that names several loads them in order, and what one sets up for itself ends before the next", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-batches-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  write("waits.mjs", "await new Promise((resolve) => setTimeout(resolve, 5)); export const waited = true;");
  const shared = JSON.stringify(import.meta.resolve("#testing/shared.ts"));
  const say = (what: string): string => `console.log("said", ${JSON.stringify(what)})`;
  const textOf = (name: string): string => `
    import { after, before, test } from "node:test";
    import { atEndOfProcess } from ${shared};
    import { waited } from "./waits.mjs";
    ${say(`load ${name}`)};
    before(() => ${say(`before ${name}`)});
    await new Promise((resolve) => setTimeout(resolve, 5));
    after(() => ${say(`after ${name}`)});
    atEndOfProcess(() => ${say(`end ${name}`)});
    test("one", () => ${say(`test ${name}`)});`;
  const files = [
    write("a.test.mjs", textOf("a")),
    write("broken.test.mjs", "import './absent.mjs';"),
    write("b c.test.mjs", textOf("b c")),
  ];
  const entry = entryOf(files, folder, 7);
  const { code, out } = await runCommand([process.execPath, entry], { NODE_TEST_CONTEXT: "child" });
  assert.equal(code, 1, out);
  assert.match(out, /Cannot find module .*absent/);
  assert.deepEqual(
    out.split("\n").flatMap((line) => /^said (.*)/.exec(line)?.[1] ?? []),
    ["load a", "load b c", "before a", "test a", "after a", "before b c", "test b c", "after b c", "end b c", "end a"],
  );
});

test("a file is loaded as it is, and where WebAssembly is compiled for speed in a process of that kind", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-batches-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  assert.equal(readFileSync(entryOf(["/a/two words.test.ts"], folder, 7), "utf8"), 'import "file:///a/two%20words.test.ts";\n');
  const ofEngine = readFileSync(entryOf(["src/pdp/0.test.ts", "src/events/1.test.ts"], folder, 8), "utf8");
  assert.match(ofEngine, /^import \{ runForSpeed \} from "file:.*for-speed\.ts";\nrunForSpeed\(".*0008\.mjs"\);\n$/);
  assert.match(readFileSync(join(folder, "0008.mjs"), "utf8"), /file:.*0\.test\.ts".*file:.*1\.test\.ts"/);
});
