import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { commaList, flag, integer, readSettings, setting } from "./setting.ts";

const table = {
  on: setting("ON", flag(), { description: "A switch.", default: "true" }),
  size: setting("SIZE", integer(1, 10), { description: "A size.", default: "5" }),
  names: setting("NAMES", commaList(), { description: "Names.", default: "" }),
  url: setting("URL", z.url().optional(), { description: "An address." }),
};

test("defaults hold where the environment is silent or empty", () => {
  const { values, issues } = readSettings(table, { SIZE: "" });
  assert.deepEqual(issues, []);
  assert.deepEqual(values, { on: true, size: 5, names: [], url: undefined });
});

test("every issue is named with its variable", () => {
  const { issues } = readSettings(table, { ON: "yes", SIZE: "11", URL: "nowhere" });
  assert.deepEqual(issues.map((issue) => issue.path).sort(), ["ON", "SIZE", "URL"]);
});

for (const text of ["1.5", "1e3", " 5", "0x5", "-1", "99999999999999999999"]) {
  test(`"${text}" is no whole number of 1 to 10`, () => assert.equal(readSettings(table, { SIZE: text }).issues.length, 1));
}
