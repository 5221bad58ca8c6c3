import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCommandLine, partNames, UsageError } from "./command-line.ts";

test("without options everything is served on the usual ports with the demo world", () => {
  const read = parseCommandLine([]);
  assert.deepEqual([...read.serve], [...partNames]);
  assert.deepEqual([read.port, read.data, read.config, read.demo, read.help], [8080, ".sallyport", "config", true, false]);
});

test("a subset is served", () => {
  assert.deepEqual([...parseCommandLine(["--serve", "gateway,crud"]).serve], ["gateway", "crud"]);
});

for (const [argv, text] of [
  [["--serve", "gateway,crudd"], '"crudd"'],
  [["--port", "eighty"], '"eighty"'],
  [["--port", "0"], '"0"'],
  [["--port", "65530"], '"65530"'],
  [["--prot", "8080"], "--prot"],
  [["gateway"], "gateway"],
  [["--port"], "--port"],
] as const) {
  test(`${argv.join(" ")} is refused by name`, () => {
    assert.throws(
      () => parseCommandLine(argv),
      (error: unknown) => error instanceof UsageError && error.message.includes(text),
    );
  });
}

test("all issues are named at once", () => {
  assert.throws(
    () => parseCommandLine(["--serve", "x", "--port", "y"]),
    (error: unknown) => error instanceof UsageError && error.message.includes('"x"') && error.message.includes('"y"'),
  );
});
