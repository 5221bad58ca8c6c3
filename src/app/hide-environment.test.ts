import assert from "node:assert/strict";
import { test } from "node:test";
import type { SettingTable } from "#contract/setting.ts";
import { staysVisible } from "./hide-environment.ts";
import { settingTables } from "./model/settings.ts";

test("no setting stays where other programs read what this one was started with", () => {
  const settings = Object.values<SettingTable>(settingTables).flatMap((table) => Object.values(table));
  assert.ok(settings.some(({ secret }) => secret === true));
  assert.deepEqual(settings.map(({ env }) => env).filter(staysVisible), []);
  for (const other of ["AWS_SECRET_ACCESS_KEY", "NODE_AUTH_TOKEN", "NPM_TOKEN", "PGPASSWORD", "GITHUB_TOKEN", "HTTPS_PROXY", "PATH_SECRET"])
    assert.ok(!staysVisible(other), other);
  for (const needed of ["PATH", "HOME", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "LC_ALL", "TZ"]) assert.ok(staysVisible(needed), needed);
});
