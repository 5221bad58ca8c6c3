import assert from "node:assert/strict";
import { test } from "node:test";
import type { SettingTable } from "#contract/setting.ts";
import { settingTables } from "#app/model/settings.ts";
import { configurationFiles } from "./reference/configuration.ts";

const manual = configurationFiles().get("configuration.md") ?? "";
const schema = JSON.parse(configurationFiles().get("configuration.schema.json") ?? "") as {
  readonly properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>;
};
const settings = Object.values<SettingTable>(settingTables).flatMap((table) => Object.values(table));

test("every value that the reference lists for a setting, and every default, is taken", () => {
  const refused = settings.flatMap((setting) =>
    [...(schema.properties[setting.env]?.enum ?? []), setting.default, setting.npmStart]
      .filter((value): value is string => value !== undefined)
      .filter((value) => !setting.schema.safeParse(value).success)
      .map((value) => `${setting.env}=${value}`),
  );
  assert.deepEqual(refused, []);
});

test("where npm start has another default than the program, the reference says both", () => {
  for (const [name, own, started] of [
    ["ENVIRONMENT", "production", "dev"],
    ["LOG_LEVEL", "info", "warn"],
  ] as const)
    assert.ok(manual.includes(`| \`${name}\` | \`${own}\`; of \`npm start\` \`${started}\` |`), name);
});
