import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runShown, shownBlocks } from "./shown-commands.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

/** Its own, because commands change what it has. */
let instance: TestInstance;
before(async () => {
  instance = await startTestInstance();
});
after(() => instance.stop());

/** Pages for the demo: what their commands print, and the problem codes that they show on purpose. */
const pages: Readonly<Record<string, { readonly prints: readonly RegExp[]; readonly codes?: readonly string[] }>> = {
  "README.md": { prints: [/people\.demo\.list_employees/, /birth_date/] },
  "docs/tutorial/demo.md": { prints: [/"step_up_required"/, /"salary\\?":70000/] },
  "docs/howto/running.md": { prints: [/A start would succeed/] },
  "docs/howto/separate-processes.md": { prints: [/signature ok/] },
  "docs/howto/tokens.md": { prints: [/^eyJ(?:.*\n){4}[0-9]{6}$/m] },
  "docs/howto/access-requests.md": { prints: [/^\["approved","live",/m, /^true\n"live"\n"invalid_task_state"$/m] },
  "docs/howto/audit.md": { prints: [/^event: activity$/m, /"decisions":\[\{/, /"source":"demo"/, /"by_tool"/, /"source":"log"/] },
  "docs/howto/monitoring.md": { prints: [/^bff_/m, /"status":"ready"/, /^# HELP/m] },
  "docs/howto/workflows.md": {
    prints: [
      /"did you mean expires\?"/,
      /"completed",null[^]*"handed_over"/,
      /"cancelled","compensated"/,
      /"suspended","revoked"/,
      /"agent:hr-assistant"/,
    ],
  },
  "docs/howto/forms.md": { prints: [/"name":"raise"/, /"valid":true[^]*"id":"e1"/, /"items":\[\{"label"/] },
  "docs/howto/call-tools.md": { prints: [/system\.health/, /"success":true/, /"salary\\?":70000/] },
};

for (const [page, { prints, codes = [] }] of Object.entries(pages))
  test(`the commands that ${page} shows do what it says`, async (t) => {
    const output = await runShown(t, await shownBlocks(page), instance);
    for (const print of prints) assert.match(output, print);
    const refused = new Set([...output.matchAll(/urn:sallyport:problem:(\w+)/g)].map(([, code = ""]) => code));
    assert.deepEqual([...refused].sort(), [...codes].sort(), output);
  });

test("the settings that docs/howto/production.md lists are all that a start in production needs", async (t) => {
  const secret = "openssl rand -hex 24 > client-secret";
  const output = await runShown(t, [secret, ...(await shownBlocks("docs/howto/production.md"))], instance);
  assert.match(output, /ENVIRONMENT is production\n[^]*A start would succeed/);
});

test("docs/howto/configuration-folder.md makes a copy that starts, and publishes another", async (t) => {
  const blocks = (await shownBlocks("docs/howto/configuration-folder.md")).filter((block) => !block.includes("call GET"));
  const output = await runShown(t, blocks, instance);
  for (const print of [/A start would succeed/, /as they were/, /people\.demo\.update_salary/]) assert.match(output, print);
});
