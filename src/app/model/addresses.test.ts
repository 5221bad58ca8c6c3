import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesOf } from "./addresses.ts";
import { readInstanceSettings } from "./settings.ts";

const OWN = [8080, 8081, 8082, 8083, 8084, 8085];

test("no system dials a port of the deployment, whether it counts up from the gateway's or an address names it", () => {
  const rows: readonly (readonly [environment: Readonly<Record<string, string>>, more: readonly number[]])[] = [
    [{}, []],
    [{ MEMBERSHIP_SERVICE_URL: "http://localhost:9404" }, [9404]],
    [{ PDP_SERVICE_URL: "http://10.0.0.5:9002", CRUD_SERVICE_URL: "http://127.0.0.1:9003/" }, [9002, 9003]],
    [{ SECRETS_SERVICE_URL: "http://[::1]:9005", MEMBERSHIP_SERVICE_URL: "http://localhost:8084" }, [9005]],
    [{ PUBLIC_ORIGINS: "https://gate.example,https://gate.internal:9443" }, [9443]],
    [{ PDP_SERVICE_URL: "https://pdp.internal", SECRETS_SERVICE_URL: "https://secrets.internal:443" }, []],
  ];
  for (const [environment, more] of rows) {
    const { settings, issues } = readInstanceSettings({ ENVIRONMENT: "test", ...environment });
    assert.deepEqual(issues, []);
    const { internalPorts, ports } = addressesOf(8080, settings);
    assert.deepEqual([...internalPorts].toSorted(), [...OWN, ...more].toSorted(), JSON.stringify(environment));
    assert.equal(internalPorts.has(ports.people), false, "the demo upstream is dialled");
  }
});
