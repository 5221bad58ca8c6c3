import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { look as lookAt } from "./axe.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { choose, press, write } from "./keyboard.ts";
import { until } from "#testing/until.ts";
import { takePicture } from "./picture.ts";
import { memoryServer, petKey, petstore, startOwnTools, wallClock } from "./own-tools.ts";

test("an administrator imports a document and writes a system in the browser, and a delegated agent calls both without a restart", async (t) => {
  const [own, browser] = await Promise.all([startOwnTools(t), launchBrowser()]);
  cleanUp(t, () => browser.close());
  const { origin, provider, upstream, config, walk, as, ada, ben } = own;
  /** The helper's capability is for the definition that is served, and for no other. */
  const assertPinned = async (tool: string): Promise<void> => {
    const { digest } = await as(ada)("GET", `/edges/HAS_CAPABILITY/agent:helper/${tool}`);
    assert.equal(digest, (await config("GET", `/mcp/tools/explain?tool=${tool}`)).about.digest, tool);
  };
  const { page, issues } = await openPage(browser, { reducedMotion: "reduce" });
  const look = async (name: string): Promise<void> => await lookAt(page, name);
  const dialog = page.getByRole("dialog");
  const region = (name: string) => page.getByRole("region", { name, exact: true });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const effects = region("What it would change");
  const publish = async (reason: string): Promise<void> => {
    await press(button("Publish"));
    await write(dialog.getByLabel("Why"), reason);
    await page.keyboard.press("Control+Enter");
    await dialog.waitFor({ state: "detached" });
  };
  const textbox = (name: string) => page.getByRole("textbox", { name });

  provider.person = { sub: "ada-1", claims: {} };
  await page.goto(`${origin}/auth/login?return_to=/systems&acr_values=strong`);
  await page.getByRole("heading", { level: 1, name: "Systems" }).waitFor();

  // The wizard: a name that is none, a document that is none, then the published one.
  await press(page.getByRole("link", { name: "Import OpenAPI" }));
  await write(page.getByLabel("Provider"), "Pets");
  await write(page.getByLabel("Instance"), "store");
  await write(textbox("Document"), "nothing: to see");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Please correct:").waitFor();
  await write(page.getByLabel("Provider"), "pets");
  await press(button("Look at it"));
  await page.getByText("Code", { exact: true }).waitFor();
  await look("import-document");
  await write(textbox("Document"), petstore);
  await page.keyboard.press("Control+Enter");
  await page.getByText("20 of 20 operations can be imported").waitFor();
  await press(page.getByRole("radio", { name: "What I pick" }), "Space");
  await choose(page.getByLabel("Tag", { exact: true }), "pet");
  await press(page.getByRole("checkbox", { name: "Pick GET /pet/{petId}" }), "Space");
  await write(page.getByLabel("Find an operation"), "add");
  await page.getByRole("row", { name: /GET/ }).first().waitFor({ state: "detached" });
  await press(button("Select all matching"));
  await page.getByText("2 operations are picked").waitFor();
  await look("import-pick");
  await press(button("Next"));
  await press(button("Next"));
  await page.getByText("Please correct:").waitFor();
  await look("import-connect");
  await write(page.getByLabel("Address of the system"), `${upstream.url}/v2`);
  await write(page.getByLabel("Networks that may be dialled"), "127.0.0.1/32");
  await choose(page.getByLabel("Authentication"), "API key");
  await write(page.getByLabel("Its name"), petKey.name);
  await write(page.getByRole("combobox", { name: "Key", exact: true }), petKey.value);
  await page.keyboard.press("Enter");
  // What was chosen outlives a reload.
  await page.reload();
  await page.getByText("Your unsaved changes were restored.").waitFor();
  await press(button("Next"));
  await page.getByText("2 new tools").waitFor();
  // What its key lacks is said before it is published, and stands on its page afterwards.
  await page.getByText("yaml://secret/pets#key is not there").waitFor();
  await look("import-check");
  await press(button("Publish"));
  await page.waitForURL(/\/systems\/pets\.store$/);
  await page.getByText("pets.store serves as version 1.").waitFor();
  await region("To know").getByText("yaml://secret/pets#key is not there").waitFor();
  await region("To know").getByText("pets.store may not use yaml://secret/pets#key yet").waitFor();
  await look("system-published");
  await region("Versions")
    .getByRole("row", { name: /OpenAPI import/ })
    .waitFor();

  // A newer document: what goes and what changes is shown before it is published.
  const { paths, ...rest } = JSON.parse(petstore) as { paths: Record<string, Record<string, Record<string, unknown>>> };
  const { post: _gone, ...pet } = paths["/pet"] ?? {};
  const one = { ...paths["/pet/{petId}"], get: { ...paths["/pet/{petId}"]?.["get"], description: "Finds one pet by its number." } };
  await press(page.getByRole("link", { name: "Import a newer document" }));
  await page.getByText("pets.store is there already").waitFor();
  await write(textbox("Document"), JSON.stringify({ ...rest, paths: { ...paths, "/pet": pet, "/pet/{petId}": one } }));
  await page.keyboard.press("Control+Enter");
  await press(button("Next"));
  await page.getByText("1 tool goes").waitFor();
  await page.getByText("text changed /description").waitFor();
  await look("reimport-check");
  await page.keyboard.press("Escape");

  // A system by hand: its fault stands at its line; what is written outlives a reload.
  await page.goto(`${origin}/systems/new`);
  await effects.getByText("Valid", { exact: true }).waitFor();
  await write(textbox("Document of the new system"), wallClock(upstream.url).replace("method: GET", "method: GOT"));
  await page.locator(".cm-content .sp-issue-line").waitFor();
  await press(effects.getByRole("button", { name: /^line 14/ }));
  await page.locator(".cm-editor.cm-focused").waitFor();
  await look("system-new");
  await write(textbox("Document of the new system"), wallClock(upstream.url));
  await effects.getByText("clock.wall.now").waitFor();
  await page.reload();
  await page.getByText("Your unsaved changes were restored.").waitFor();
  await effects.getByText("clock.wall.now").waitFor();
  await publish("The clock on the wall");
  await page.getByRole("heading", { level: 1, name: "Wall clock" }).waitFor();

  // Somebody else publishes while she writes: she sees what, and goes on with hers.
  const editor = textbox("Document of clock.wall");
  await write(editor, wallClock(upstream.url).replace("Wall clock", "The wall's clock"));
  await effects.getByText("Valid", { exact: true }).waitFor();
  await config("PUT", "/config/systems/clock.wall?reason=Theirs", wallClock(upstream.url).replace("on the wall", "by the wall"), {
    "content-type": "application/yaml",
  });
  await page.getByText("Somebody else changed it meanwhile").waitFor();
  await page.locator("ins", { hasText: "by the wall" }).waitFor();
  await look("system-conflict");
  await press(button("Go on with mine, over version 2"));
  await publish("Its proper name");
  await page.getByText("clock.wall serves as version 3.").waitFor();

  // And back to an earlier version, its difference shown.
  await press(region("Versions").getByRole("link", { name: "1", exact: true }));
  await page.locator("ins", { hasText: "Wall clock" }).waitFor();
  await page.locator("del", { hasText: "wall's clock" }).waitFor();
  await look("system-version");
  await press(button("Roll back to it"));
  await write(dialog.getByLabel("Why"), "It was right before");
  await press(dialog.getByRole("button", { name: "Roll back to it" }));
  await page.getByText("Version 1 serves again, as version 4.").waitFor();
  await page.getByRole("heading", { level: 1, name: "Wall clock" }).waitFor();

  // The graph is told again of what serves, without another version: where a step says so it is this dialog.
  await page.goto(`${origin}/systems/clock.wall?act=publish`);
  await dialog.getByText("No tool, address or secret changes.").waitFor();
  await look("system-again");
  await press(dialog.getByRole("button", { name: "Publish again" }));
  await page.getByText("clock.wall serves as version 4.").waitFor();
  await button("Publish again").waitFor();

  // A call as herself goes the whole way, and is refused with the way to why: nobody granted her the tool.
  await press(button("Test a call of clock.wall.now"));
  await page.getByText("This tool is not in your own list").waitFor();
  await press(button("Call"));
  const why = page.locator("a[href^='/why/']");
  const confirm = dialog.getByRole("button", { name: /^Call/ });
  await why.or(confirm).first().waitFor();
  if (await confirm.isVisible()) await press(confirm);
  await why.first().waitFor();
  assert.equal(upstream.seen.length, 0);
  await look("system-test");

  // What is missing for Ben's agent is named, and done from there; what is Ben's own to do is said.
  const missing = region("To fix");
  const explainFor = async (tool: string): Promise<void> => {
    await page.goto(`${origin}/tools/${tool}?tab=try`);
    await write(page.getByRole("combobox", { name: "Person" }), "person:oidc:ben-1");
    await page.keyboard.press("Enter");
    await write(page.getByRole("combobox", { name: "Agent" }), "agent:helper");
    await page.keyboard.press("Enter");
  };
  const take = async (verb: string, reason: string): Promise<void> => {
    await press(missing.getByRole("button", { name: verb }));
    await write(dialog.getByLabel("Why"), reason);
    if (verb !== "Give it") await look(`tool-step-${verb.slice(0, 3)}`);
    await page.locator('button[type="submit"][aria-disabled="false"]').waitFor();
    await page.keyboard.press("Control+Enter");
    await dialog.waitFor({ state: "detached" });
    await missing.getByRole("button", { name: verb }).waitFor({ state: "detached" });
  };
  const petTool = "pets.store.get_pet_by_id";
  await explainFor(petTool);
  await missing.getByRole("link", { name: "Write the secret" }).waitFor();
  await look("tool-secret");
  await takePicture(page, "tool-secret", true);
  await press(missing.getByRole("link", { name: "Write the secret" }));
  await dialog.getByText("yaml://secret/pets", { exact: true }).waitFor();
  assert.equal(await dialog.getByRole("textbox", { name: "Key" }).inputValue(), "key");
  await write(dialog.getByLabel("Value"), "canary-pets");
  await page.keyboard.press("Control+Enter");
  await dialog.getByRole("status", { name: "What will happen" }).waitFor();
  await page.locator('button[type="submit"][aria-disabled="false"]:not([data-loading])').waitFor();
  await page.keyboard.press("Control+Enter");
  await dialog.waitFor({ state: "detached" });
  await explainFor(petTool);
  await take("Allow secret for system", "The pet store knows us by it");
  await take("Grant it", "Ben looks after the pets");
  await take("Give it", "The helper looks them up");
  await explainFor("clock.wall.now");
  await take("Grant it", "Ben looks after the wall");
  await take("Give it", "The helper reads the clock");
  await missing.getByText("person:oidc:ben-1", { exact: true }).waitFor();
  for (const tool of [petTool, "clock.wall.now"]) await assertPinned(tool);
  assert.match((await missing.getByRole("link", { name: "Delegate" }).getAttribute("href")) ?? "", /tool=clock\.wall\.now/);
  await look("tool-missing");
  await takePicture(page, "tool-missing", true);

  // Ben delegates both, from the address that the step leads to.
  const bens = await openPage(browser, { reducedMotion: "reduce" });
  provider.person = { sub: "ben-1", claims: { name: "Ben" } };
  const there = encodeURIComponent("/delegations/new?tool=clock.wall.now&agent=agent:helper");
  await bens.page.goto(`${origin}/auth/login?return_to=${there}&acr_values=strong`);
  const next = bens.page.getByRole("button", { name: "Next" });
  await bens.page.getByRole("radio", { name: /Helper/ }).waitFor();
  await press(next);
  await press(bens.page.getByRole("checkbox", { name: petTool }), "Space");
  await press(next);
  await write(bens.page.getByLabel("Steps"), "9");
  await write(bens.page.getByLabel("Budget in USD"), "1.00");
  await write(bens.page.getByLabel("Purpose"), "Look after the pets");
  await press(next);
  await bens.page.getByRole("region", { name: "Review" }).getByText(petTool).first().waitFor();
  await press(bens.page.getByRole("button", { name: "Delegate", exact: true }));
  await bens.page.waitForURL(/\/delegations\/delegation:/);
  await walk(
    [
      [petTool, { petId: 7 }, "/v2/pet/7"],
      ["clock.wall.now", {}, "/now"],
    ],
    "pets.store.add_pet",
  );
  assert.deepEqual([...new Set(upstream.seen.map(({ headers }) => headers["api_key"]))], ["canary-pets", undefined]);

  // Its page shows the end of a long history, and says that there is more.
  const path = `/delegations/${new URL(bens.page.url()).pathname.split("/").at(-1)}`;
  const terms = async (args: unknown): Promise<void> => {
    const { headers } = await fetch(`${origin}/api/membership${path}`, { headers: ben.headers });
    await as(ben)("PATCH", path, { constraints: { args } }, { "if-match": headers.get("etag") ?? "" });
  };
  for (let change = 0; change < 12; change++) await terms({ "clock.wall.now": { $comment: `${change}`.padEnd(60_000) } });
  await terms(null);
  await bens.page.reload();
  await bens.page.getByText("Earlier changes are in the log of the graph.").waitFor();
  await lookAt(bens.page, "delegation-history");
  await takePicture(bens.page, "delegation-history", true);
  assert.deepEqual(bens.issues, []);
  await bens.close();

  // Whom a newer definition takes the tool from, and what the calls of just now would meet, is said before it is published.
  const graph = as(ada);
  const { definition_digest: digest } = await graph("GET", "/mcp/tools/clock.wall.now");
  await graph("PUT", "/edges/HAS_CAPABILITY/agent:helper/clock.wall.now", { props: { granted_by: "person:oidc:ada-1" }, digest });
  await page.goto(`${origin}/systems/clock.wall`);
  await write(editor, wallClock(upstream.url).replace("on the wall", "over there"));
  await effects.getByText("1 delegation loses a tool").waitFor();
  await effects.getByText(/^[1-9]\d* recent decisions were asked again, [1-9]\d* would be denied/).waitFor();
  await look("system-effects");
  await takePicture(page, "system-effects", true);
  await press(button("Start over"));

  // The tool's own page: how it stands, who called and who may; it goes to somebody else, off, and on again.
  await page.goto(`${origin}/tools/clock.wall.now`);
  const stands = region("Status");
  for (const fact of ["Serving", "free", "Read", "No extra sign-in", "clock.wall"]) await stands.getByText(fact, { exact: true }).waitFor();
  await region("Recent decisions").getByRole("link").first().waitFor();
  await region("Who can call it").getByText("person:oidc:ben-1").first().waitFor();
  await region("Who can call it").getByText("agent:helper", { exact: true }).waitFor();
  await look("tool-standing");
  await takePicture(page, "tool-standing", true);
  await press(page.getByRole("button", { name: "Grant", exact: true }));
  await write(dialog.getByRole("combobox", { name: "Person, group or agent" }), "person:oidc:ada-1");
  await page.keyboard.press("Enter");
  await write(dialog.getByLabel("Why"), "To see the time");
  await look("tool-grant-to");
  await page.keyboard.press("Control+Enter");
  await page.getByText("person:oidc:ada-1 has it now.").waitFor();
  await page.getByRole("tab", { name: "Try it" }).waitFor();
  await region("Who can call it").getByText("person:oidc:ada-1").first().waitFor();
  // Given once more it stays pinned.
  await press(page.getByRole("button", { name: "Grant", exact: true }));
  await choose(dialog.getByLabel("Grant it to"), "an agent");
  await write(dialog.getByRole("combobox", { name: "Person, group or agent" }), "agent:helper");
  await page.keyboard.press("Enter");
  await write(dialog.getByLabel("Why"), "It reads the clock");
  await page.keyboard.press("Control+Enter");
  await page.getByText("agent:helper has it now.").waitFor();
  await assertPinned("clock.wall.now");
  await press(button("Switch off"));
  await write(dialog.getByLabel("Why"), "It leaks");
  await page.keyboard.press("Control+Enter");
  await stands.getByText("person:oidc:ada-1 switched tool:clock.wall.now off: It leaks").waitFor();
  await look("tool-off");
  await press(button("Switch on again"));
  await press(dialog.getByRole("button", { name: "Switch on again" }));
  await stands.getByText("Serving", { exact: true }).waitFor();

  // Secrets where no place for them is set, which it is here.
  await page.route("**/api/secrets/mounts", async (route) => await route.fulfill({ json: { mounts: [] } }));
  await page.goto(`${origin}/secrets`);
  await page.getByText("No place for secrets is set for your organisation.").waitFor();
  await look("secrets-empty");
  await page.unroute("**/api/secrets/mounts");

  // What is deleted is gone, and can be brought back.
  await page.goto(`${origin}/systems`);
  await page.getByRole("link", { name: "clock.wall" }).waitFor();
  await look("systems");
  await press(page.getByRole("link", { name: "clock.wall" }));
  // All of it is switched off and on again from its page; its list and its tools say so meanwhile.
  await press(button("Switch off"));
  await dialog.getByText("clock.wall.now").waitFor();
  await write(dialog.getByLabel("Why"), "no");
  await page.keyboard.press("Control+Enter");
  await dialog.getByText("Say why, in 3 to 500 characters.").waitFor();
  await write(dialog.getByLabel("Why"), "The wall is painted");
  await look("system-switch-off");
  await page.keyboard.press("Control+Enter");
  const facts = region("Current version");
  await facts.getByText("person:oidc:ada-1 switched system:clock.wall off: The wall is painted").waitFor();
  await facts.getByText("until it is switched on again").waitFor();
  await look("system-switched-off");
  await takePicture(page, "system-switched-off", true);
  await page.goto(`${origin}/tools/clock.wall.now`);
  await region("Who can call it").getByText("nobody, while it is not serving").waitFor();
  // Who delegates is told meanwhile.
  const again = await openPage(browser);
  const tools = encodeURIComponent("/delegations/new?agent=agent:helper&step=tools");
  await again.page.goto(`${origin}/auth/login?return_to=${tools}&acr_values=strong`);
  await again.page.getByText("not in your own list of tools now").waitFor();
  await takePicture(again.page, "delegate-resting", true);
  await again.close();
  await page.goto(`${origin}/systems?state=switched_off`);
  await page
    .getByRole("row", { name: /clock\.wall/ })
    .getByText("Switched off", { exact: true })
    .waitFor();
  assert.equal(await page.getByRole("row", { name: /pets\.store/ }).count(), 0);
  await press(page.getByRole("link", { name: "clock.wall" }));
  await press(button("Switch on again"));
  await press(dialog.getByRole("button", { name: "Switch on again" }));
  await facts.getByText("Serving", { exact: true }).waitFor();
  await press(button("Delete"));
  await dialog.getByText("1 tool goes").waitFor();
  // Whose delegation it is, and that no giving anew helps.
  await dialog.getByText("agent:helper for person:oidc:ben-1").waitFor();
  await dialog.getByText("The tool goes: no agent calls it any more, whatever it was delegated.").waitFor();
  assert.equal(await dialog.getByRole("link", { name: /^delegation:/ }).count(), 1);
  await look("system-delete");
  await write(dialog.getByLabel("Why"), "No longer needed");
  await press(dialog.getByRole("button", { name: "Delete" }));
  await page.getByText("clock.wall is deleted.").waitFor();
  await region("Deleted; a version can be brought back").getByText("Why: No longer needed").waitFor();
  assert.equal(await page.getByText("not_found").count(), 0);
  await look("system-gone");
  await takePicture(page, "system-gone", true);
  await page.goto(`${origin}/systems?state=deleted`);
  await press(page.getByRole("link", { name: "clock.wall" }));
  await press(region("Versions").getByRole("link", { name: "4", exact: true }));
  await look("system-deleted");
  await press(button("Roll back to it"));
  await write(dialog.getByLabel("Why"), "It was needed");
  await press(dialog.getByRole("button", { name: "Roll back to it" }));
  await page.getByText("Version 4 serves again, as version 6.").waitFor();
  await button("Test a call of clock.wall.now").waitFor();

  // Who may name controllers is not sent to somebody else.
  await page.goto(`${origin}/delegations/new`);
  await page.getByText("You may name controllers yourself").waitFor();
  await look("delegate-control");
  await takePicture(page, "delegate-control", true);
  // Systems and tools are gone to by their names.
  await page.keyboard.press("Control+k");
  await write(dialog.getByRole("combobox"), "pets.store");
  await dialog.getByRole("option", { name: /pets\.store/ }).waitFor();
  await write(dialog.getByRole("combobox"), petTool);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/tools/${petTool}`);

  // A server of others: what it says of its tools waits, is looked at, approved, and rejected again.
  await config("POST", "/config/systems", memoryServer("own", "person:oidc:ben-1"), { "content-type": "application/yaml" });
  await until(async () => (await config("GET", "/config/definitions?state=proposed")).definitions.length === 9);
  await page.goto(`${origin}/systems`);
  await press(page.getByRole("link", { name: "Definitions" }));
  await press(page.getByRole("link", { name: "Look at notes.own.read_graph" }));
  await region("Look at notes.own.read_graph").getByText("What the server says now").first().waitFor();
  await look("definitions");
  await takePicture(page, "definitions", true);
  for (const [verb, state] of [
    ["Approve", "Approved"],
    ["Reject", "Rejected"],
  ] as const) {
    await page.goto(`${origin}/definitions?tool=notes.own.read_graph`);
    await press(button(verb));
    await write(dialog.getByLabel("Why"), "Read it");
    if (verb === "Approve") await look("definition-approve");
    await page.keyboard.press("Control+Enter");
    await page.getByText(`notes.own.read_graph is ${state.toLowerCase()}.`).waitFor();
    await page
      .getByRole("row", { name: /notes\.own\.read_graph/ })
      .getByText(state)
      .waitFor();
  }

  // The others in one act.
  await page.goto(`${origin}/definitions`);
  await press(button("Approve all of notes.own"));
  await write(dialog.getByLabel("Why"), "Read them all");
  await look("definitions-all");
  await takePicture(page, "definitions-all");
  await page.keyboard.press("Control+Enter");
  await page.getByText("8 definitions of notes.own approved.").waitFor();
  await button("Approve all of notes.own").waitFor({ state: "detached" });
  assert.deepEqual(issues, []);
});
