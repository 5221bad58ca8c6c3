import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { cleanUp } from "#testing/clean-up.ts";
import { openPythonEnvironment } from "#testing/python-environment.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const script = `
import sys, time
from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server
class Directory(Client):
    # As directories do: what is refused for its rate is sent again when the answer says.
    def send(self, request, **how):
        response = super().send(request, **how)
        while response.status_code == 429:
            time.sleep(float(response.headers["retry-after"]))
            response = super().send(request, **how)
        return response
client = SyncSCIMClient(Directory(base_url=sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]}, timeout=60))
for result in check_server(client):
    print(result.status.name, result.title, (result.reason or "").replace(chr(10), " "), sep="|")
`;
/** What departs from the standard, as the tester says it; docs/howto/scim.md says each. */
const known = [
  "ERROR|check_add_attribute|PATCH modify() returned unexpected value for 'members'",
  "ERROR|check_remove_attribute|PATCH modify() did not remove attribute 'active'",
  "ERROR|check_replace_attribute|PATCH modify() returned unexpected value for 'members'",
  "ERROR|search_with_attributes|The method is not allowed here",
];

test("scim2-tester finds nothing but what is written down, at the documented address and with its limits", async (t) => {
  const bin = openPythonEnvironment("scim2-tester", fileURLToPath(new URL("scim-tester-requirements.txt", import.meta.url)), (line) =>
    t.diagnostic(line),
  );
  if (bin === undefined) {
    const line = "scim2-tester needs a Python 3.11 with venv";
    if (process.env["REQUIRE_REAL"] === "1") throw new Error(line);
    return t.skip(line);
  }
  // The limits that ship.
  const instance = await startTestInstance({ environment: { RATE_LIMITS: undefined } });
  cleanUp(t, () => instance.stop());
  const strong = await fetchToken(instance.port, { user: "ada", acr: "strong" });
  const made = await fetch(`http://localhost:${instance.port + 4}/api/v1/scim-tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${strong}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "tester" }),
  });
  const { token } = (await made.json()) as { token: string };
  const child = spawn(join(bin, "python"), ["-c", script, `${instance.origin}/scim/v2`, token]);
  const [said, issues] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const results = said.trim().split("\n");
  assert.ok(results.length > 100, issues);
  const departures = results.filter((line) => !line.startsWith("SUCCESS") && !line.startsWith("SKIPPED"));
  const named = departures.map((line) => known.find((one) => line.startsWith(one)) ?? line);
  assert.deepEqual([...new Set(named)].toSorted(), known, "all of it is written down, and nothing else");
});
