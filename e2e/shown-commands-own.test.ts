import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { findFreePorts } from "#testing/free-port.ts";
import { petstore } from "./own-tools.ts";
import { startForeignProvider } from "./foreign-provider.ts";
import { startOwnInstance } from "./own-instance.ts";
import { runScript } from "./run-script.ts";
import { runShown, shownBlocks } from "./shown-commands.ts";
import { makeDataFolder } from "./test-instance.ts";

test("the commands of the pages for a start without the demo lead to an agent's permitted call", async (t) => {
  const data = await makeDataFolder();
  cleanUp(t, () => rm(data, { recursive: true, force: true }));
  const port = await findFreePorts();
  const provider = await startForeignProvider([`http://localhost:${port}`]);
  cleanUp(t, () => provider.stop());
  const who = ["--issuer", provider.issuer, "--subject", "SUB", "--tenant", "acme", "--name", "Ada"];
  const first = await runScript("admin.ts", ["first", ...who, "--data", data]);
  assert.deepEqual([first.code, first.err.startsWith("person:oidc:SUB ")], [0, true], first.err);
  const { origin, signIn } = await startOwnInstance(t, { port, data, provider });
  const [ada, ben] = [await signIn("SUB"), await signIn("ben-1", { name: "Ben" })];
  const environment = {
    BENS_TOKEN: await provider.accessToken(origin, { sub: "ben-1", scope: "mcp.tools.discovery mcp.tools.invoke membership.read" }),
  };
  const as = { Ada: ada.headers["cookie"] ?? "", Ben: ben.headers["cookie"] ?? "" };
  const tutorial = await shownBlocks("docs/tutorial/empty-start.md");
  const configuration = (await shownBlocks("docs/howto/configuration-folder.md")).filter((block) => block.includes("call GET"));
  // What asks a program of the operator's, or the command line's own token, other tests do.
  const tools = (await shownBlocks("docs/howto/bring-your-own-tools.md")).filter((block) => !/notes\.own|npm run config/.test(block));
  const document = `cat > petstore.json <<'END'\n${petstore}\nEND\n`;
  const more = ["as '' # Ada's cookie\n", ...configuration, ...(await shownBlocks("docs/howto/scim.md")), document, ...tools];
  const output = await runShown(t, [...tutorial, ...more], { port, data, as, environment });
  assert.equal(output.match(/\\"person:oidc:ben-1\\"/g)?.length, 2, output);
  assert.match(
    output,
    /"unchanged":\d[^]*"totalResults":0[^]*"name":"Okta"[^]*"name":"pets\.store"[^]*"name":"clock\.wall"[^]*step: 'grant'/,
  );
  assert.doesNotMatch(output, /urn:sallyport:problem/);
});

test("docs/howto/second-tenant.md makes a tenant and its administrator", async (t) => {
  const page = "docs/howto/second-tenant.md";
  const [tenant = "", roles = ""] = await shownBlocks(page, "ndjson");
  const [importTenant = "", importRoles = ""] = await shownBlocks(page);
  const fileOf = (name: string, text: string): string => `cat > ${name} <<'END'\n${text}END\n`;
  const data = await makeDataFolder();
  cleanUp(t, () => rm(data, { recursive: true, force: true }));
  const port = await findFreePorts();
  const provider = await startForeignProvider([`http://localhost:${port}`]);
  cleanUp(t, () => provider.stop());
  const who = ["--issuer", provider.issuer, "--subject", "ada-1", "--tenant", "acme", "--data", data];
  assert.equal((await runScript("admin.ts", ["first", ...who])).code, 0);
  await runShown(t, [fileOf("globex.ndjson", tenant), importTenant], { port, data });
  const claims = { tenant: "tenant:globex" };
  const linked = await startOwnInstance(t, { port, data, provider });
  await linked.signIn("eve-1", claims);
  await linked.instance.stop();
  await runShown(t, [fileOf("roles.ndjson", roles), importRoles], { port, data });
  const { as, signIn } = await startOwnInstance(t, { port, data, provider });
  const { items } = await as(await signIn("eve-1", claims))("GET", "/roles/holders");
  assert.deepEqual(
    items.map((row: Record<string, unknown>) => row["holder_id"]),
    ["person:eve", "person:eve"],
  );
  const persons = await as(await signIn("ada-1"))("GET", "/identity_nodes/search?node_type=Person");
  assert.deepEqual(
    persons.map((row: Record<string, unknown>) => row["id"]),
    ["person:oidc:ada-1"],
    "tenants see their own",
  );
});
