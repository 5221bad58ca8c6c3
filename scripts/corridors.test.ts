import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const source = (file: string): string => readFileSync(join(root, "src", file), "utf8");

/** The walks of `docs/corridors.md`: where each begins, and its hops. */
const walks = readFileSync(join(root, "docs/corridors.md"), "utf8")
  .split("\n## ")
  .slice(1)
  .map((text) => ({
    title: text.split("\n", 1)[0] ?? "",
    start: /It begins in `\w+` of `src\/([^`]+)`/.exec(text)?.[1] ?? "",
    hops: [...text.matchAll(/^\| \d+ \| (\S+) \| `(\w+)` (\S+) \| (.+) \|$/gm)].map(([, from = "", name = "", file = "", gives = ""]) => ({
      from,
      name,
      file,
      passesOn: gives.startsWith("*passes on:*"),
    })),
    numbers: [...text.matchAll(/^\| *(\d+) *\|/gm)].map(([, number]) => Number(number)),
  }));

test("each hop of the corridors is a file that is there, called by one that was reached, by the name that it has there", () => {
  assert.equal(walks.length, 4);
  for (const { title, start, hops } of walks) {
    const reached = new Map([[start.split("/").at(-1), [start]]]);
    for (const { from, name, file } of hops) {
      const hop = `${title}: ${from} ${name} ${file}`;
      assert.ok(existsSync(join(root, "src", file)), hop);
      assert.ok(
        (reached.get(from) ?? []).some((caller) => new RegExp(`\\b${name}\\b`).test(source(caller))),
        hop,
      );
      const base = file.split("/").at(-1);
      reached.set(base, [...(reached.get(base) ?? []), file]);
    }
  }
});

test("every row of a walk is a hop that can be read, numbered in its order, and no function of a file is named twice", () => {
  for (const { title, hops, numbers } of walks) {
    assert.deepEqual(
      numbers,
      hops.map((_hop, at) => at + 1),
      title,
    );
    const named = hops.map(({ name, file }) => `${name} ${file}`);
    assert.deepEqual(
      named.filter((hop, at) => named.indexOf(hop) !== at),
      [],
      title,
    );
  }
});

test("the corridors are counted as they stand: files, hops, hops into one file at most, and hops that only pass on", () => {
  const table = readFileSync(join(root, "docs/corridors.md"), "utf8").split("Until the rooms were redrawn")[0] ?? "";
  const counted = [...table.matchAll(/^\| [a-z ]+ ((?:\| \d+ ){4})\|$/gm)].map(([, cells = ""]) => cells.match(/\d+/g)?.map(Number));
  assert.deepEqual(
    counted,
    walks.map(({ start, hops }) => {
      const byFile = Map.groupBy(hops, ({ file }) => file);
      const max = Math.max(...[...byFile.values()].map(({ length }) => length));
      return [new Set([start, ...byFile.keys()]).size, hops.length, max, hops.filter(({ passesOn }) => passesOn).length];
    }),
  );
});
