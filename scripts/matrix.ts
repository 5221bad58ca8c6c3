// `npm run matrix`: writes what the policies decide in the demo world to src/pdp/lifecycle/matrix/matrix.txt, to be reviewed as a difference.
import { readFile, writeFile } from "node:fs/promises";
import { requireOptions } from "./options.ts";

requireOptions(
  "npm run matrix\n\nWrites what the policies decide in the demo world to src/pdp/lifecycle/matrix/matrix.txt, to be reviewed as a difference. No options.\n",
);

const { matrixFactsFile } = await import("#pdp/lifecycle/matrix/matrix-facts.ts");
const { drawDemoMatrix, matrixFile } = await import("#testing/decision-matrix.ts");

const closing: (() => Promise<void>)[] = [];
try {
  const before = await readFile(matrixFile, "utf8").catch(() => "");
  const { matrix: drawn, facts } = await drawDemoMatrix({
    after: (close) => void closing.push(async () => void (await (close as () => unknown)())),
  });
  await writeFile(matrixFile, drawn);
  // What it was drawn on, so that a running instance can draw it for any version.
  await writeFile(matrixFactsFile, facts);
  const old = new Set(before.split("\n"));
  const changed = drawn.split("\n").filter((line) => !old.has(line));
  process.stdout.write(
    before === drawn ? "matrix.txt is as the policies decide.\n" : `matrix.txt written; new or changed:\n${changed.join("\n")}\n`,
  );
} finally {
  for (const close of closing.toReversed()) await close();
}
