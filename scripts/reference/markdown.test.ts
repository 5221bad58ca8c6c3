import assert from "node:assert/strict";
import { test } from "node:test";
import { list, MAX_COLUMNS, table, wrap } from "./markdown.ts";

const words = (count: number): string => Array.from({ length: count }, (_, at) => `word${at}`).join(" ");

test("prose wraps at 120 columns, code spans stay whole and no line begins a block", () => {
  const code = `\`${words(10)}\``;
  const text = `${words(17)} ${code} - ${words(20)} 1. ${words(18)} # end`;
  const lines = wrap(text).split("\n");
  assert.equal(lines.join(" "), text);
  assert.ok(lines.length > 3 && lines.every((line) => line.length <= MAX_COLUMNS + 4 && !/^([-#] |1\.)/.test(line)), lines.join("\n"));
  assert.ok(lines.some((line) => line.includes(code)));
  assert.deepEqual(
    list([words(30)])
      .join("\n")
      .split("\n")
      .map((line) => line.slice(0, 2)),
    ["- ", "  "],
  );
});

for (const [what, text, head, note] of [
  ["whole sentences", `One. ${words(30)}.`, "One. More below.", `${words(30)}.`],
  ["words, where no sentence fits", words(40), `${words(17)} ...`, words(40)],
  ["nothing, where no word fits", `\`${"x".repeat(130)}\``, "...", `\`${"x".repeat(130)}\``],
] as const)
  test(`a cell that is too long shows ${what}; the rest stands below the table`, () => {
    const [, , row, , heading, , ...notes] = table(["name", "meaning"], [["`A`", text]]);
    assert.equal(row, `| \`A\` | ${head} |`);
    assert.equal(heading, "Continued:");
    assert.equal(notes.join(" ").replaceAll(/\s+/g, " "), `- \`A\`, meaning: ${note}`);
  });

test("a cell escapes what would end it or set it in italics, but not inside code", () => {
  assert.equal(table(["a"], [["x|y * <b> `z*`"]])[2], "| x\\|y \\* \\<b> `z*` |");
});
