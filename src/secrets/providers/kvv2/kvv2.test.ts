import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { StartIssues } from "#contract/start-issues.ts";
import { readSettings } from "#contract/setting.ts";
import { createLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { sharedOpenBao } from "#testing/kv-provider.ts";
import type { OpenBao } from "#testing/openbao.ts";
import { requireProgram } from "#testing/programs.ts";
import { kvSettings } from "./kv-settings.ts";
import { kvv2 } from "./kvv2.ts";

const openBao = sharedOpenBao((t) => requireProgram(t, "bao"), { storage: "memory" });

const wrapSecretId = async (bao: OpenBao): Promise<string> => {
  const response = await fetch(`${bao.url}/v1/auth/approle/role/start/secret-id`, {
    method: "POST",
    headers: { "x-vault-token": bao.rootToken, "x-vault-wrap-ttl": "60s" },
  });
  return ((await response.json()) as { wrap_info: { token: string } }).wrap_info.token;
};

/** Opens the stores as a start does: the faults that would stop it, and the events that it logs. */
const open = async (t: TestContext, environment: Readonly<Record<string, string>>) => {
  const read = (prefix: "VAULT" | "VAULTA" | "VAULTB") => readSettings(kvSettings(prefix), environment).values;
  const settings = { vault: read("VAULT"), vaultA: read("VAULTA"), vaultB: read("VAULTB") };
  assert.deepEqual(kvv2.read(settings, "test").issues, []);
  const logged: unknown[] = [];
  const log = createLog({
    level: "info",
    service: "secrets",
    version: "test",
    environment: "test",
    write: (line) => logged.push((JSON.parse(line) as { event: string }).event),
  });
  const stack = new AsyncDisposableStack();
  cleanUp(t, () => stack.disposeAsync());
  const common = { environment: "test", file: undefined, places: [], metrics: createMetrics(), now: () => new Date(), log } as const;
  try {
    return { opened: (await kvv2.open({ ...common, settings, stack })).flatMap(({ schemes }) => schemes), logged };
  } catch (error) {
    assert.ok(error instanceof StartIssues);
    return { issues: error.issues.map(({ path, message }) => [path, message]), logged };
  }
};

for (const [prefix, schemes] of [
  ["VAULT", ["vaulta+kv2", "vaultb+kv2"]],
  ["VAULTA", ["vaulta+kv2"]],
  ["VAULTB", ["vaultb+kv2"]],
] as const)
  test(`a start with ${prefix}_SECRET_ID_WRAPPED opens it once; the next start with the same one is stopped, and says which`, async (t) => {
    const bao = await openBao(t);
    if (bao === undefined) return;
    const { roleId } = await bao.role("start");
    const environment = {
      [`${prefix}_URL`]: bao.url,
      [`${prefix}_ROLE_ID`]: roleId,
      [`${prefix}_SECRET_ID_WRAPPED`]: await wrapSecretId(bao),
    };
    assert.deepEqual(await open(t, environment), { opened: schemes, logged: [] });
    assert.deepEqual(await open(t, environment), {
      issues: [[`${prefix}_SECRET_ID_WRAPPED`, "The wrapped secret id was opened already, or is too old."]],
      logged: ["secrets_wrapped_id_refused"],
    });
  });

test("a store that is away stops no start: it may come", async (t) => {
  const environment = { VAULT_URL: "http://127.0.0.1:1", VAULT_ROLE_ID: "role", VAULT_SECRET_ID_WRAPPED: "hvs.wrapped" };
  assert.deepEqual((await open(t, environment)).opened, ["vaulta+kv2", "vaultb+kv2"]);
});
